. "$CASES/../lib.sh"
make_log
mkdir out.db
complain mtrace-import --force run.dat out.db
ls
