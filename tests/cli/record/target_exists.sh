. "$CASES/../lib.sh"
echo precious >run.dat
complain mtrace-record -o run.dat -- true
cat run.dat
# expect stdout
#|status 125, lines on stderr 1
#|precious
# expect stderr
#|mtrace-record: 'SCRATCH/run.dat' exists and is not a log of mtrace; choose another name or remove it
