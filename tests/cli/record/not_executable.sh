. "$CASES/../lib.sh"
echo text >program
complain mtrace-record -o run.dat -- ./program
rm -f run.dat program
ls
