# With --listen, source files are served from below --source-dir only, despite links and ".."; without --source-dir none are served.
. "$CASES/../fixture.sh"
mkdir -p shown hidden
echo shown >shown/a.c
echo hidden >hidden/b.c
ln -s ../hidden/b.c shown/link.c
here=$(pwd -P)
sqlite3 run.db "UPDATE sources SET path = '$here/shown/' || CASE source_id WHEN 1 THEN 'a.c' WHEN 2 THEN 'link.c' ELSE '../hidden/b.c' END"
ask() { # OPTION…
    echo "${*:-no option}"
    mtrace-serve "$@" run.db >address &
    server=$!
    trap 'kill $server' EXIT
    until [ -s address ]; do sleep 0.01; done
    address=$(sed 's/?token.*//' address)
    token=$(sed 's/.*token=//' address)
    for path in shown/a.c shown/link.c shown/../hidden/b.c; do
        curl -sS -G -H "Authorization: Bearer $token" "${address}api/v1/last/source" --data-urlencode "path=$here/$path" |
            python3 -c 'import json, sys; a = json.load(sys.stdin); print(" ", sys.argv[1], repr(a["text"]), a["note"])' "$path"
    done
    kill $server
    wait $server || :
    trap - EXIT
    rm address
}
ask
ask --listen 127.0.0.1 --source-dir shown
ask --listen 127.0.0.1
mtrace-serve --source-dir absent run.db
# expect status 2
# expect stdout
#|no option
#|  shown/a.c 'shown\n' 
#|  shown/link.c 'hidden\n' 
#|  shown/../hidden/b.c 'hidden\n' 
#|--listen 127.0.0.1 --source-dir shown
#|  shown/a.c 'shown\n' 
#|  shown/link.c None mtrace-serve --listen shows files below its --source-dir only
#|  shown/../hidden/b.c None mtrace-serve --listen shows files below its --source-dir only
#|--listen 127.0.0.1
#|  shown/a.c None mtrace-serve --listen shows files below its --source-dir only
#|  shown/link.c None mtrace-serve --listen shows files below its --source-dir only
#|  shown/../hidden/b.c None mtrace-serve --listen shows files below its --source-dir only
# expect stderr
#|mtrace-serve: --source-dir 'absent': No such file or directory
#|Try 'mtrace-serve --help' or 'mtrace-serve --usage' for more information.
