# mtrace-run records, imports and serves the page, and opens the browser if there is a display. ^C ends the program first, then the server.
. "$CASES/../lib.sh"
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) { char *kept = malloc(777); printf("%d: %s, kept %d\n", argc, argv[1], kept != NULL); return 3; }
C
gcc -O0 -fno-builtin -w -o program program.c
mkdir bin
printf '#!/bin/sh\necho "$1" >opened.part\nmv opened.part opened\n' >bin/xdg-open
chmod +x bin/xdg-open
DISPLAY=:7 PATH=$PWD/bin:$PATH mtrace-run --max-depth=8 -q ./program "an 'argument'" >messages.txt 2>complained.txt &
server=$!
trap 'kill $server 2>/dev/null || :' EXIT
until [ -e opened ] || ! kill -0 $server 2>/dev/null; do sleep 0.01; done
address=$(cat opened)
grep -Fxq "$address" messages.txt && echo "the address is printed, too"
curl -sf "${address}api/v1" | grep -o run.db | sed -n 1p
kill $server
wait $server || :
grep argument messages.txt
mtrace-query run.db sql --csv 'SELECT count(*) AS kept FROM allocations WHERE size_bytes = 777'
echo "nothing recorded: no page"
complain mtrace-run -f -o run.dat -- ./no-such-program
complain mtrace-run -o run.txt ./program
complain mtrace-run --attach 1
complain mtrace-run
# expect stdout
#|the address is printed, too
#|run.db
#|2: an 'argument', kept 1
#|kept
#|1
#|nothing recorded: no page
#|status 127, lines on stderr 1
#|status 2, lines on stderr 1
#|status 2, lines on stderr 1
#|status 2, lines on stderr 1
# expect stderr
#|mtrace-record: './no-such-program' does not exist
#|mtrace-run: the name of a recording ends in .dat, 'run.txt' does not
#|mtrace-run: --attach starts no program; use mtrace-record
#|mtrace-run: no program given; try 'mtrace-run --help'
