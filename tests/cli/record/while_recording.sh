# A second recording to the same file, while the first is at work.
. "$CASES/../lib.sh"
mkfifo begin
mtrace-record -q -o run.dat -- sh -c 'echo >begin; read -r line <begin' &
read -r line <begin
complain mtrace-record -o run.dat -- /bin/true
complain mtrace-record --force -o run.dat -- /bin/true
echo >begin
wait
# expect stdout
#|status 125, lines on stderr 1
#|status 125, lines on stderr 1
# expect stderr
#|mtrace-record: 'SCRATCH/run.dat' is being recorded right now; choose another name
#|mtrace-record: 'SCRATCH/run.dat' is being recorded right now; choose another name
