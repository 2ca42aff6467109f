. "$CASES/../lib.sh"
: >empty.dat
complain mtrace-import empty.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|empty.dat
# expect stderr
#|mtrace-import: 'empty.dat' is empty
