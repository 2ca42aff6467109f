# A log that does not exist.
. "$CASES/../lib.sh"
complain mtrace-import none.dat out.db
ls
