# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case refused
# Arguments and files that mtrace-serve refuses.
echo '== absent'
complain mtrace-serve absent.db
echo '== no arguments'
complain mtrace-serve
echo '== wrong port'
complain mtrace-serve --port 70000 run.db
echo '== empty file'
: >empty.db
complain mtrace-serve empty.db
echo '== foreign'
echo "no database" >run.db
complain mtrace-serve run.db
echo '== empty folder'
mkdir folder
echo text >folder/a.txt
complain mtrace-serve folder
# expect stdout
#|== absent
#|status 1, lines on stderr 1
#|== no arguments
#|status 2, lines on stderr 2
#|== wrong port
#|status 2, lines on stderr 2
#|== empty file
#|status 1, lines on stderr 1
#|== foreign
#|status 1, lines on stderr 1
#|== empty folder
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-serve: cannot open 'absent.db': No such file or directory
#|mtrace-serve: no recording was named
#|Try 'mtrace-serve --help' or 'mtrace-serve --usage' for more information.
#|mtrace-serve: --port is '70000', but must be a number from 1 to 65535
#|Try 'mtrace-serve --help' or 'mtrace-serve --usage' for more information.
#|mtrace-serve: 'empty.db' is empty; mtrace-import makes databases
#|mtrace-serve: 'run.db' is not an mtrace database; mtrace-import makes one
#|mtrace-serve: no database of mtrace is in the folder 'folder'; mtrace-import makes them
# case wrong_address
. "$CASES/../fixture.sh"
mtrace-serve --listen example.com run.db
# expect status 2
# expect stderr
#|mtrace-serve: 'example.com' is no numeric address; 0.0.0.0 is all of this machine's
