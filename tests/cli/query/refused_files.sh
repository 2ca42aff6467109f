# Files that are no database of mtrace, or a damaged one, and names that are wrong.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
echo '== cut database'
head -c 20000 run.db > cut.db
complain mtrace-query leaks cut.db
echo '== directory'
mkdir d
complain mtrace-query leaks d
echo '== empty file'
: > empty.db
complain mtrace-query leaks empty.db
echo '== foreign database'
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-query leaks other.db
echo '== missing log'
complain mtrace-query leaks missing.dat
echo '== newer database'
cp run.db newer.db; sqlite3 newer.db "PRAGMA user_version = 99"
complain mtrace-query leaks newer.db
echo '== no database'
complain mtrace-query leaks
echo '== no such file'
complain mtrace-query none.db
ls
echo '== not a database'
echo text >text.db
complain mtrace-query text.db
# expect stdout
#|== cut database
#|status 1, lines on stderr 1
#|== directory
#|status 1, lines on stderr 1
#|== empty file
#|status 1, lines on stderr 1
#|== foreign database
#|status 1, lines on stderr 1
#|== missing log
#|status 1, lines on stderr 1
#|== newer database
#|status 1, lines on stderr 1
#|== no database
#|status 2, lines on stderr 2
#|== no such file
#|status 1, lines on stderr 1
#|cut.db
#|d
#|empty.db
#|newer.db
#|other.db
#|run.db
#|== not a database
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-query: 'cut.db' is damaged; import the recording again
#|mtrace-query: 'd' is a directory; name a database that mtrace-import made
#|mtrace-query: 'empty.db' is empty; mtrace-import makes databases
#|mtrace-query: 'other.db' is a database of another program; mtrace-import makes ours
#|mtrace-query: cannot open 'missing.dat': No such file or directory
#|mtrace-query: 'newer.db' has schema 99, this mtrace reads 1; use a newer mtrace
#|mtrace-query: leaks needs a database
#|Try 'mtrace-query --help'.
#|mtrace-query: cannot open 'none.db': No such file or directory
#|mtrace-query: 'text.db' is not an mtrace database; mtrace-import makes one
