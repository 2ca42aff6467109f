. "$CASES/../lib.sh"
echo "this is no log" >text.dat
complain mtrace-import text.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|text.dat
# expect stderr
#|mtrace-import: 'text.dat' is text, not a log
