# Without symbols a call site is a call, not the whole file.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE call_sites SET object_offset = 0x3100 WHERE call_site_id = 6"
mtrace-query leaks run.db --process 1 | grep libwork
mtrace-query sql run.db "SELECT function, module FROM sites WHERE call_site_id = 6" --csv
# expect stdout
#|   30 B       3        100 %  burst at 5.0 s           6  libwork.so+0x3100  libwork.so
#|function,module
#|libwork.so+0x3100,/opt/server/lib/libwork.so
