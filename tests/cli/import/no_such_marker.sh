# A marker that is not there is said, and what was at the target's name stays.
. "$CASES/../lib.sh"
make_log
complain mtrace-import --until-marker "not there" run.dat out.db
complain mtrace-import --until-marker "not there" --until 1h run.dat out.db
ls
