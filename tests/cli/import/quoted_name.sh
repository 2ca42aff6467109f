# The command that mtrace-import prints works in a shell for any database name.
. "$CASES/../lib.sh"
make_log
for name in "my run.db" "it's.db" 'a$HOME;b.db' plain.db; do
    mtrace-import run.dat "$name" 2>import.txt
    eval "$(sed -n 's/.*; \(mtrace-query .*\)/\1/p' import.txt)" >answer.txt
    sed -n 's/.*; //p' import.txt
    grep -c '^allocated  ' answer.txt
done
# expect stdout
#|mtrace-query 'my run.db'
#|1
#|mtrace-query 'it'\''s.db'
#|1
#|mtrace-query 'a$HOME;b.db'
#|1
#|mtrace-query plain.db
#|1
