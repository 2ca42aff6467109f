# diff takes logs, too; a database that is older than the log beside it is reported.
. "$CASES/../lib.sh"
make_log
mv run.dat old.dat
cp old.dat new.dat
mtrace-query diff old.dat new.dat 2>said.txt | tail -n 2
grep '^importing' said.txt | sort
mtrace-query diff old.dat new.dat 2>again.txt >answer.txt
grep -c '^importing' again.txt || :
mtrace-query new.db 2>said.txt >answer.txt
grep -c 'newer' said.txt || :
touch -d '2001-01-01' new.db
mtrace-query peak new.db 2>&1 >answer.txt | grep newer
mtrace-query diff old.db new.db 2>&1 >answer.txt | grep newer
echo "no log" >new.dat
mtrace-query peak new.db 2>&1 >answer.txt | grep newer || echo "no note"
# expect stdout
#|leaked, from old.db to new.db: 0 B in 0 blocks
#|change  change blocks  before  after  where
#|importing new.dat to new.db
#|importing old.dat to old.db
#|0
#|0
#|mtrace-query: note: 'new.dat' is newer than 'new.db': import it again
#|mtrace-query: note: 'new.dat' is newer than 'new.db': import it again
#|no note
