. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT process_id, pid, executable, NULL AS absent FROM processes ORDER BY 1" --format csv
# expect stdout
#|process_id,pid,executable,absent
#|1,812,/opt/server/bin/server,
#|2,813,/opt/server/bin/server,
#|3,814,/bin/sh,
