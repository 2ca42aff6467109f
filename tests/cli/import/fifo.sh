. "$CASES/../lib.sh"
# Nobody writes to it: it is refused, not waited for.
mkfifo pipe.dat
complain timeout 20 mtrace-import pipe.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|pipe.dat
# expect stderr
#|mtrace-import: 'pipe.dat' is not a regular file; copy the log into one
