. "$CASES/../lib.sh"
complain mtrace-record --max-live 10X -o run.dat -- /bin/true
complain mtrace-record --max-live 1.5MiB -q -o run.dat -- /bin/true
