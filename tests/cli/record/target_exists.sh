. "$CASES/../lib.sh"
echo precious >run.dat
complain mtrace-record -o run.dat -- true
cat run.dat
