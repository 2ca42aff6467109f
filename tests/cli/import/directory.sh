. "$CASES/../lib.sh"
mkdir folder
complain mtrace-import folder out.db
ls
