-- SPDX-License-Identifier: MIT
-- unwind_quality: one row per kind of stack end: how far stacks could be followed, and in which file they stopped.
CREATE VIEW unwind_quality(
  process_id,        -- joins processes
  status,            -- 'complete', 'guessed' or 'truncated'
  module,            -- file of the outermost frame with a file
  stacks,            -- distinct stacks
  allocations,       -- blocks allocated with them
  share              -- of the process's allocations, 0 to 1
) AS
WITH
  -- A stack that lost its caller is below a root that lies in no file. There the second level is the outermost frame.
  ends AS MATERIALIZED (
    SELECT b.backtrace_id, iif(f.object_id IS NULL, b.backtrace_id, b.last_descendant_id) AS last_id, f.object_id
    FROM backtraces AS b JOIN frames AS f ON f.frame_id = b.frame_id
    WHERE b.depth = 1
    UNION ALL
    SELECT b.backtrace_id, b.last_descendant_id, f.object_id
    FROM backtraces AS b
    JOIN frames AS f ON f.frame_id = b.frame_id
    JOIN backtraces AS root ON root.backtrace_id = b.parent_backtrace_id
    JOIN frames AS g ON g.frame_id = root.frame_id
    WHERE b.depth = 2 AND g.object_id IS NULL),
  stack_ends AS (
    SELECT t.process_id, b.status, e.object_id, count(*) AS stacks, sum(t.allocated_blocks) AS allocations
    FROM processes AS p CROSS JOIN ends AS e CROSS JOIN backtrace_totals AS t
      ON t.process_id = p.process_id AND t.backtrace_id BETWEEN e.backtrace_id AND e.last_id
    JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    GROUP BY t.process_id, b.status, e.object_id)
SELECT s.process_id, s.status, o.path, s.stacks, s.allocations,
  1.0 * s.allocations / sum(s.allocations) OVER (PARTITION BY s.process_id)
FROM stack_ends AS s LEFT JOIN objects AS o ON o.object_id = s.object_id
ORDER BY s.process_id, s.allocations DESC, s.stacks DESC, s.status, o.path;
