# Less than a header, but with the right magic.
. "$CASES/../lib.sh"
printf 'mtrace\r\n\001\000\000\000' >short.dat
complain mtrace-import short.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|short.dat
# expect stderr
#|mtrace-import: 'short.dat' ends inside its header at byte 12
