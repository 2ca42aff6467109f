mtrace-record --no-local true || true
mtrace-record --max-local 1GiB --to localhost:1 --insecure true || true
mtrace-record --no-local --max-local 1MiB --to localhost:1 --insecure true || true
mtrace-record --no-local --report --to localhost:1 --insecure true || true
mtrace-record --to discover --insecure true || true
mtrace-gather folder --announce --insecure --listen 127.0.0.1:0 || true
mtrace-gather --discover=0 --insecure || true
mtrace-gather --discover --insecure
# expect status 2
# expect stderr
#|mtrace-record: --to HOST:PORT must name the receiver
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: --max-local needs --no-local
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: --max-local is '1MiB', but must be 64MiB or more
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: --no-local leaves no log here, which reports need
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: discovery needs a key that both sides have: --psk-file
#|mtrace-record: nothing was recorded; see above
#|mtrace-gather: --announce needs --psk-file, whose keys sign it
#|mtrace-gather: --discover is '0', but must be a port from 1 to 65535
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
#|mtrace-gather: discovery needs a key that both sides have: --psk-file
