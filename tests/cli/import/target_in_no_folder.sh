. "$CASES/../lib.sh"
make_log
complain mtrace-import run.dat nowhere/out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|run.dat
# expect stderr
#|mtrace-import: cannot write 'nowhere/out.db': No such file or directory
