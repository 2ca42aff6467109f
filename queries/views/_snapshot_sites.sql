-- SPDX-License-Identifier: MIT
-- _snapshot_sites: one row per snapshot and call site whose live bytes changed. It fills snapshot_sites.
--
-- The peak is left out. It lies between two regular snapshots, and these do not store how stacks changed after it.
CREATE VIEW _snapshot_sites(
  snapshot_id,       -- joins snapshots
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  change_bytes       -- live bytes now minus those of the snapshot before
) AS
WITH
  changes AS (
    SELECT s.snapshot_id, s.backtrace_id, s.live_bytes - lag(s.live_bytes, 1, 0) OVER (
        PARTITION BY n.process_id, s.backtrace_id ORDER BY n.at_ns, n.snapshot_id) AS change_bytes
    FROM snapshots AS n CROSS JOIN snapshot_backtraces AS s ON s.snapshot_id = n.snapshot_id
    WHERE n.reason <> 'peak')
SELECT c.snapshot_id, b.call_site_id, sum(c.change_bytes)
FROM changes AS c JOIN backtraces AS b ON b.backtrace_id = c.backtrace_id
WHERE c.change_bytes <> 0
GROUP BY c.snapshot_id, b.call_site_id
HAVING sum(c.change_bytes) <> 0;
