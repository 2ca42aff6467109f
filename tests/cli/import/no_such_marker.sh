# A marker that is not there is said, and what was at the target's name stays.
. "$CASES/../lib.sh"
make_log
complain mtrace-import --until-marker "not there" run.dat out.db
complain mtrace-import --until-marker "not there" --until 1h run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|run.dat
# expect stderr
#|mtrace-import: 'run.dat' has no marker 'not there'
#|mtrace-import: 'run.dat' has no marker 'not there' up to the time of --until
