. "$CASES/../lib.sh"
complain mtrace-import --no-such-option run.dat
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-import: unrecognized option '--no-such-option'
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
