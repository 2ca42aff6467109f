. "$CASES/../lib.sh"
complain mtrace-record -o nowhere/run.dat -- true
# expect stdout
#|status 125, lines on stderr 1
# expect stderr
#|mtrace-record: cannot make 'SCRATCH/nowhere/run.dat': No such file or directory
