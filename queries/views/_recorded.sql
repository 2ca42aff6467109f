-- SPDX-License-Identifier: MIT
-- _recorded: one row per process: from when its first window of recording began to when the last one ended. All of its life, where it was recorded all the time.
CREATE VIEW _recorded(
  process_id,        -- joins processes
  start_ns,          -- of the first window
  end_ns             -- of the last window
) AS
SELECT p.process_id, coalesce(min(w.start_ns), p.start_ns), max(coalesce(w.end_ns, p.end_ns))
FROM processes AS p LEFT JOIN windows AS w ON w.process_id = p.process_id
GROUP BY p.process_id;
