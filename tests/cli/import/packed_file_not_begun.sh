# The packed file is still empty because the recorder just created it: all events are in the live log, and no damage is reported.
lib=$(dirname "$(command -v mtrace-record)")/../lib/mtrace/libmtrace.so
[ -e "$lib" ] || { echo "skipped: no libmtrace.so beside mtrace-record"; exit 77; }
LD_PRELOAD=$lib MTRACE_OUTPUT=raw.dat sh -c 'exit 0'
mv raw.dat new.dat.live
: >new.dat
mtrace-import new.dat new.db 2>errors.txt || cat errors.txt
grep "cannot be used" errors.txt || true
sqlite3 new.db "SELECT count(*) > 0, (SELECT count(*) FROM meta WHERE key LIKE 'log.damage%') FROM allocations"
# expect stdout
#|1|0
