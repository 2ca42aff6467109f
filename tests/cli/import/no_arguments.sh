. "$CASES/../lib.sh"
complain mtrace-import
# expect stdout
#|status 2, lines on stderr 2
# expect stderr
#|mtrace-import: no log was named
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
