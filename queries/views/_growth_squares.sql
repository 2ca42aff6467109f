-- SPDX-License-Identifier: MIT
-- _growth_squares: one row per call site of a process whose blocks are samples: the squared margin of its growth.
--
-- Growth is the live bytes at the last regular snapshot before a teardown minus those at the first. A block that is live at both is the same sample
-- in both, so it does not change the difference. Filters on rows replace this view by a table.
CREATE VIEW _growth_squares(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  bytes_square       -- square of half of the width of the 95 % interval
) AS
WITH
  looks AS MATERIALIZED (
    SELECT n.process_id, p.sample_bytes, min(n.at_ns) AS first_ns, max(n.at_ns) AS last_ns
    FROM processes AS p JOIN snapshots AS n ON n.process_id = p.process_id JOIN _growth_range AS j ON j.process_id = p.process_id
    WHERE p.sample_bytes > 0 AND n.reason = 'regular' AND n.at_ns <= j.end_ns GROUP BY n.process_id),
  changed AS (
    SELECT l.process_id, a.backtrace_id, a.size_bytes, exp(-1.0 * a.size_bytes / l.sample_bytes) AS missed
    FROM (SELECT 1 FROM looks LIMIT 1) AS some -- rows are only read if there are samples
    CROSS JOIN allocation_rows AS a
    CROSS JOIN threads AS t ON t.thread_id = a.thread_id
    CROSS JOIN looks AS l ON l.process_id = t.process_id
    WHERE a.size_bytes > 0
      AND (a.alloc_ns <= l.first_ns AND coalesce(a.alloc_ns + a.lifetime_ns > l.first_ns, 1))
        <> (a.alloc_ns <= l.last_ns AND coalesce(a.alloc_ns + a.lifetime_ns > l.last_ns, 1)))
SELECT c.process_id, b.call_site_id, sum(3.841459 * c.size_bytes * c.size_bytes * c.missed / ((1 - c.missed) * (1 - c.missed)))
FROM changed AS c JOIN backtraces AS b ON b.backtrace_id = c.backtrace_id
GROUP BY c.process_id, b.call_site_id;
