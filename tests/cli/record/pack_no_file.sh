. "$CASES/../lib.sh"
# Nobody writes to it: it is refused, not waited for.
mkfifo pipe.dat pool.dat.live
for log in pipe.dat pool.dat.live . /dev/null; do
    complain timeout 20 mtrace-record --pack=$log
done
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|pipe.dat
#|pool.dat.live
# expect stderr
#|mtrace-record: 'pipe.dat' is not a file
#|mtrace-record: 'pool.dat.live' is not a file
#|mtrace-record: '.' is not a file
#|mtrace-record: '/dev/null' is not a file
