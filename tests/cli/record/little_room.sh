# On a small disk the program runs, and what fits is recorded. On a full disk --force keeps the existing recording.
. "$CASES/../lib.sh"
mkdir small
mount -t tmpfs -o size=4m none small 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
trap 'umount small' EXIT
mtrace-record -q -o small/run.dat -- sh -c 'echo the program ran'
ls small
mtrace-record -q -f -o small/run.dat -- sh -c 'echo the program ran again'
ls small
cp small/run.dat before.dat
head -c 8m /dev/zero >small/filler 2>/dev/null || true
complain mtrace-record -f -o small/run.dat -- sh -c 'echo not reached'
cmp before.dat small/run.dat && ls small
# expect stdout
#|the program ran
#|run.dat
#|the program ran again
#|run.dat
#|status 125, lines on stderr 1
#|filler
#|run.dat
# expect stderr
#|mtrace-record: cannot make the live log 'SCRATCH/small/run.dat.replacing.live' of 68 KiB: No space left on device
