. "$CASES/../lib.sh"
# Nobody writes to it: it is refused, not waited for.
mkfifo pipe.dat
complain timeout 20 mtrace-import pipe.dat out.db
ls
