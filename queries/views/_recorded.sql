-- SPDX-License-Identifier: MIT
-- _recorded: one row per process: the time from its first window of recording to the end of the last one.
--
-- This is all of its life if it was recorded all the time.
CREATE VIEW _recorded(
  process_id,        -- joins processes
  start_ns,          -- start of the first window
  end_ns             -- end of the last window
) AS
SELECT p.process_id, coalesce(min(w.start_ns), p.start_ns), max(coalesce(w.end_ns, p.end_ns))
FROM processes AS p LEFT JOIN windows AS w ON w.process_id = p.process_id
GROUP BY p.process_id;
