. "$CASES/../lib.sh"
: >empty.dat
complain mtrace-import empty.dat out.db
ls
