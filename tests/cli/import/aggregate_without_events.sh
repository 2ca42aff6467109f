# An --aggregate log without its rotated files is refused, with the names of the missing files; with them it is imported.
. "$CASES/../lib.sh"
mtrace-record -q --aggregate -o run.dat -- sh -c 'exit 0'
mkdir moved
cp run.dat moved
complain mtrace-import moved/run.dat moved/run.db
cp run.dat.g1 moved/run.dat.g2
complain mtrace-import moved/run.dat moved/run.db
ls moved
mv moved/run.dat.g2 moved/run.dat.g1
mtrace-import moved/run.dat moved/run.db 2>/dev/null
mtrace-query sql 'SELECT sum(allocated_blocks) > 0 AS has_blocks FROM backtrace_totals' moved/run.db
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|run.dat
#|run.dat.g2
#|has_blocks
#|         1
# expect stderr
#|mtrace-import: 'moved/run.dat.g1' is missing: 'moved/run.dat' was recorded with --aggregate, and its events are in 'moved/run.dat.gN' and 'moved/run.dat.state' beside it; all of these must be in one folder; a checkpoint that cannot be read can be renamed to 'moved/run.dat.state.bad'
#|mtrace-import: 'moved/run.dat.state' is missing: 'moved/run.dat' was recorded with --aggregate, and its events are in 'moved/run.dat.gN' and 'moved/run.dat.state' beside it; all of these must be in one folder; a checkpoint that cannot be read can be renamed to 'moved/run.dat.state.bad'
