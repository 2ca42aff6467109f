# Arguments that mtrace-gather refuses.
. "$CASES/../lib.sh"
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
