# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case refused
# Arguments that mtrace-gather refuses.
echo '== insecure elsewhere'
complain mtrace-gather folder --insecure --listen 0.0.0.0:0
echo '== no arguments'
complain mtrace-gather
echo '== no proof'
complain mtrace-gather folder
# expect stdout
#|== insecure elsewhere
#|status 2, lines on stderr 1
#|== no arguments
#|status 2, lines on stderr 2
#|== no proof
#|status 2, lines on stderr 1
# expect stderr
#|mtrace-gather: --insecure is only for this machine, not for '0.0.0.0'
#|mtrace-gather: no DIR was named
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
#|mtrace-gather: no authentication is configured; give either --psk-file, or --certificate, --key and --ca, or, on one machine, --insecure
# case bad_keys
echo "me:00" >keys
chmod 644 keys
mtrace-gather folder --psk-file keys || true
chmod 600 keys
mtrace-gather folder --psk-file keys || true
: >keys
mtrace-gather folder --psk-file keys || true
ln -s /dev/null link
mtrace-gather folder --psk-file link
# expect status 2
# expect stderr
#|mtrace-gather: 'keys' holds a secret that others may read or change; chmod 600 'keys'
#|mtrace-gather: line 1 of 'keys' is not 'name:key' with 16 to 64 bytes in hexadecimal digits; psktool makes such files
#|mtrace-gather: 'keys' has no key; psktool makes such files
#|mtrace-gather: 'link' is not a file
# case sending
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
# case wrong_usage
mtrace-gather folder --listen nowhere --insecure || true
mtrace-gather folder --listen 127.0.0.1:0 --insecure --psk-file keys || true
mtrace-gather folder --certificate c.pem || true
mtrace-gather folder --max-connections 0 || true
mtrace-gather folder --max-bytes many || true
mtrace-gather folder other
# expect status 2
# expect stderr
#|mtrace-gather: 'nowhere' is not HOST:PORT, as gather.example:7878 or [::1]:7878
#|mtrace-gather: use one way of authentication, not two; give either --psk-file, or --certificate, --key and --ca, or, on one machine, --insecure
#|mtrace-gather: --certificate, --key and --ca belong together
#|mtrace-gather: --max-connections is '0', but must be a number from 1 to 1024
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
#|mtrace-gather: --max-bytes: 'many' is not a size; write bytes, or a number with KiB, MiB, GiB or TiB
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
#|mtrace-gather: one DIR is enough, 'other' is another
#|Try 'mtrace-gather --help' or 'mtrace-gather --usage' for more information.
# case no_local_wrong
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
