. "$CASES/../lib.sh"
# Nobody writes to it: it is refused, not waited for.
mkfifo pipe.dat pool.dat.live
for log in pipe.dat pool.dat.live . /dev/null; do
    complain timeout 20 mtrace-record --pack=$log
done
ls
