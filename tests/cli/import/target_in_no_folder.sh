. "$CASES/../lib.sh"
make_log
complain mtrace-import run.dat nowhere/out.db
ls
