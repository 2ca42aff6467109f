. "$CASES/../lib.sh"
echo "this is no log" >text.dat
complain mtrace-import text.dat out.db
ls
