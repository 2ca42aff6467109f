# Arguments and files that mtrace-import refuses.
. "$CASES/../lib.sh"
echo '== no arguments'
complain mtrace-import
echo '== unknown option'
complain mtrace-import --no-such-option run.dat
echo '== database instead of log'
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-import other.db out.db
ls
echo '== directory'
mkdir folder
complain mtrace-import folder out.db
ls
echo '== empty file'
: >empty.dat
complain mtrace-import empty.dat out.db
ls
echo '== no such file'
# A log that does not exist.
complain mtrace-import none.dat out.db
ls
echo '== text file'
echo "this is no log" >text.dat
complain mtrace-import text.dat out.db
ls
echo '== target in no folder'
make_log
complain mtrace-import run.dat nowhere/out.db
ls
# expect stdout
#|== no arguments
#|status 2, lines on stderr 2
#|== unknown option
#|status 2, lines on stderr 2
#|== database instead of log
#|status 1, lines on stderr 1
#|other.db
#|== directory
#|status 1, lines on stderr 1
#|folder
#|other.db
#|== empty file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|== no such file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|== text file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|text.dat
#|== target in no folder
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|run.dat
#|text.dat
# expect stderr
#|mtrace-import: no log was named
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
#|mtrace-import: unrecognized option '--no-such-option'
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
#|mtrace-import: 'other.db' is a database, not a log; open it with mtrace-query
#|mtrace-import: 'folder' is a directory; name the log inside it
#|mtrace-import: 'empty.dat' is empty
#|mtrace-import: cannot open 'none.dat': No such file or directory
#|mtrace-import: 'text.dat' is text, not a log
#|mtrace-import: cannot write 'nowhere/out.db': No such file or directory
