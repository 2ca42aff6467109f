. "$CASES/../lib.sh"
complain mtrace-record --max-live 10X -o run.dat -- /bin/true
complain mtrace-record --max-live 1.5MiB -q -o run.dat -- /bin/true
# expect stdout
#|status 2, lines on stderr 2
#|status 0, lines on stderr 0
# expect stderr
#|mtrace-record: --max-live: '10X' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
