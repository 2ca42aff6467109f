. "$CASES/../lib.sh"
echo text >program
complain mtrace-record -o run.dat -- ./program
rm -f run.dat program
ls
# expect stdout
#|status 126, lines on stderr 1
# expect stderr
#|mtrace-record: cannot run './program': Permission denied
