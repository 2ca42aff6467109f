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
