. "$CASES/../lib.sh"
complain mtrace-record
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-record: no program given
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
