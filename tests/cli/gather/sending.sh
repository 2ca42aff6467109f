mtrace-record --send run.dat || true
mtrace-record --insecure true || true
mtrace-record --to nowhere --insecure true || true
mtrace-record --to localhost:1 true || true
mtrace-record --to localhost:1 --insecure --send run.dat true || true
mtrace-record --to localhost:1 --insecure --send-timeout 300ms --send run.dat || true
echo text >run.dat
mtrace-record --to localhost:1 --insecure --send-timeout 300ms --send run.dat
# expect status 1
# expect stderr
#|mtrace-record: --to HOST:PORT must name the receiver
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: --to HOST:PORT must name the receiver
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: 'nowhere' is not HOST:PORT, as gather.example:7878 or [::1]:7878
#|mtrace-record: nothing was recorded; see above
#|mtrace-record: no authentication is configured; give either --psk-file, or --certificate, --key and --ca, or, on one machine, --insecure
#|mtrace-record: nothing was recorded; see above
#|mtrace-record: --send runs no program, but 'true' is given
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: cannot open 'run.dat': No such file or directory
#|mtrace-record: 'run.dat' is not a packed log; one that a bare LD_PRELOAD left is packed by 'mtrace-record --pack'
