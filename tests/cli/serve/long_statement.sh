# SQL that is longer than a process argument may be is a client error.
. "$CASES/../fixture.sh"
mtrace-serve run.db >address &
server=$!
trap 'kill $server' EXIT
until [ -s address ]; do sleep 0.01; done
for bytes in 70000 140000 1000000; do
    { echo 'SELECT 1 --'; head -c $bytes /dev/zero | tr '\0' x; } >statement
    curl -sS -w '\n%{http_code}\n' --data-binary @statement "$(cat address)api/v1/last/sql"
done
# expect stdout
#|{"error":{"code":"usage","message":"the statement has more than 65536 bytes"}}
#|
#|400
#|{"error":{"code":"usage","message":"the statement or its parameters are too long"}}
#|
#|400
#|{"error":{"code":"usage","message":"the statement or its parameters are too long"}}
#|
#|400
