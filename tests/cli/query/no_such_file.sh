. "$CASES/../lib.sh"
complain mtrace-query none.db
ls
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: cannot open 'none.db': No such file or directory
