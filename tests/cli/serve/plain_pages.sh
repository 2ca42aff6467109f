# Pages are compressed only for clients that accept gzip.
. "$CASES/../fixture.sh"
mtrace-serve run.db >address &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
until [ -s address ]; do sleep 0.01; done
address=$(cat address)
curl -sS --compressed "$address" >unpacked
if grep 'without its pages' unpacked; then exit 77; fi
grep -c '<!doctype html>' unpacked || :
look() { # [VALUE]
    curl -sS -D headers ${1:+-H "Accept-Encoding: $1"} "$address" >page
    printf '%-26s %s, ' "${1:-none}" "$(tr -d '\r' <headers | grep -ci '^content-encoding: gzip' || :)"
    [ "$(od -An -tx1 -N2 page)" = " 1f 8b" ] && gzip -dc page >plain || cp page plain
    cmp plain unpacked && grep -i '^vary' headers | tr -d '\r'
}
look
look gzip
look 'deflate, GZIP;q=0.5, br'
look 'gzip;q=0'
look 'gzip;q=0, *'
look '*'
look 'br, *;q=0'
look identity
kill $server
wait $server || :
# expect stdout
#|1
#|none                       0, Vary: Accept-Encoding
#|gzip                       1, Vary: Accept-Encoding
#|deflate, GZIP;q=0.5, br    1, Vary: Accept-Encoding
#|gzip;q=0                   0, Vary: Accept-Encoding
#|gzip;q=0, *                0, Vary: Accept-Encoding
#|*                          1, Vary: Accept-Encoding
#|br, *;q=0                  0, Vary: Accept-Encoding
#|identity                   0, Vary: Accept-Encoding
