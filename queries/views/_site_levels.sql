-- SPDX-License-Identifier: MIT
-- _site_levels: one row per call site and snapshot at which its live bytes changed: how many they were from then on.
CREATE VIEW _site_levels(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  snapshot_id,       -- joins snapshots
  at_ns,             -- when it was taken
  reason,            -- 'regular' or 'end'
  live_bytes         -- requested
) AS
SELECT n.process_id, s.call_site_id, s.snapshot_id, n.at_ns, n.reason, sum(s.change_bytes) OVER (
    PARTITION BY n.process_id, s.call_site_id ORDER BY n.at_ns, n.snapshot_id)
FROM snapshot_sites AS s JOIN snapshots AS n ON n.snapshot_id = s.snapshot_id;
