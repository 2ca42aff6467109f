. "$CASES/../lib.sh"
mkdir folder
complain mtrace-import folder out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|folder
# expect stderr
#|mtrace-import: 'folder' is a directory; name the log inside it
