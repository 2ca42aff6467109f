. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT process_id, pid, executable, NULL AS absent FROM processes ORDER BY 1" --format csv
