# --force replaces logs and nothing else: not the program, nor through a link, nor what --pack is told to write to.
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
