# What of a log is lost is said below every headline, on stderr beside other answers.
. "$CASES/../fixture.sh"
sqlite3 run.db "DELETE FROM processes WHERE process_id > 1; INSERT INTO meta VALUES ('log.lost_bytes', 2904), ('log.bytes', 7000), ('log.damage.truncated', 1), ('log.damage.node', 12),
  ('log.damage', '''run.dat'' at byte 4096: file ends inside a frame' || char(10) || 'another line')"
mtrace-query run.db | sed -n 1,3p
mtrace-query leaks run.db | sed -n 1,3p
mtrace-query hot run.db -n 1
mtrace-query leaks run.db --format csv -n 1
# Of one that is not here to its end nothing is damaged.
sqlite3 run.db "UPDATE meta SET value = 0 WHERE key = 'log.lost_bytes'; DELETE FROM meta WHERE key = 'log.damage.node'; UPDATE processes SET end_kind = 'unseen', end_value = NULL"
mtrace-query run.db | sed -n 1,3p
sqlite3 run.db "DELETE FROM meta WHERE key = 'log.damage.truncated'"
mtrace-query run.db | sed -n 2p
