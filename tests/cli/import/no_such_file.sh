# A log that does not exist.
. "$CASES/../lib.sh"
complain mtrace-import none.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-import: cannot open 'none.dat': No such file or directory
