. "$CASES/../lib.sh"
complain mtrace-record --no-such-option -- true
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: unrecognized option '--no-such-option'
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
