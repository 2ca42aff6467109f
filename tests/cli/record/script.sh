# A script starts other programs: the last line says that they were not recorded, if so.
. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- sh -c 'true & sh -c "exit 0"; wait; exit 0'
complain mtrace-record -o one.dat -- sh -c '/bin/true; exit 0'
complain mtrace-record --follow-children -o followed.dat -- sh -c '/bin/true; exit 0'
# expect stdout
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
# expect stderr glob
#|mtrace-record: run.dat: *; it started 2 processes that are not recorded: --follow-children records those, too; next: mtrace-query run.dat
#|mtrace-record: one.dat: *; it started 1 process that is not recorded: --follow-children records that, too; next: mtrace-query one.dat
#|mtrace-record: followed.dat and 1 log of child processes: *; next: mtrace-query followed.dat
