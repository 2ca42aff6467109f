# --force replaces logs only: no programs, nothing through a link, and not the output of --pack.
. "$CASES/../lib.sh"
printf '#!/bin/sh\necho the script ran\n' >script
chmod +x script
ln -s script link
complain mtrace-record -f -o script -- ./script
complain mtrace-record -f -o link -- ./script
make_log
complain mtrace-record --pack run.dat -f -o script
./script
: >empty
mtrace-record -q -f -o empty -- ./script
mtrace-record -q --pack run.dat -f -o empty
ls
# expect stdout
#|status 125, lines on stderr 1
#|status 125, lines on stderr 1
#|status 1, lines on stderr 1
#|the script ran
#|the script ran
#|empty
#|link
#|run.dat
#|script
# expect stderr
#|mtrace-record: 'SCRATCH/script' exists and is not a log of mtrace; choose another name or remove it
#|mtrace-record: 'SCRATCH/link' exists and is not a log of mtrace; choose another name or remove it
#|mtrace-record: 'script' exists and is not a log of mtrace; choose another name or remove it
