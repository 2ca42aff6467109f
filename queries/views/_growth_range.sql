-- SPDX-License-Identifier: MIT
-- _growth_range: one row per process: the analysis range of growth. It ends where a program that exits begins its teardown.
--
-- A teardown is the last fall of all live bytes: no regular snapshot exceeds both of the two before it. It begins with the last
-- snapshot that has 95 % of the bytes at the top, in the second half of the analysis range. A quarter of these bytes is gone at
-- the last regular snapshot, half of them at the exit, and the fall lasts for most of the time until then: a program that frees
-- much and works on has no teardown. A program that was killed or still runs has none. Filters do not matter.
CREATE VIEW _growth_range(
  process_id,        -- joins processes
  start_ns,          -- start of the analysis range
  end_ns             -- end of the analysis range, or time of the snapshot at which the teardown begins
) AS
WITH
  changes AS MATERIALIZED (SELECT snapshot_id, sum(change_bytes) AS change FROM main.snapshot_sites GROUP BY snapshot_id),
  levels AS (
    SELECT n.process_id, n.at_ns, n.snapshot_id, n.reason, sum(c.change) OVER (
        PARTITION BY n.process_id ORDER BY n.reason = 'end', n.at_ns, n.snapshot_id) AS level
    FROM snapshots AS n
    JOIN processes AS p ON p.process_id = n.process_id
    JOIN _judged AS j ON j.process_id = n.process_id
    LEFT JOIN changes AS c ON c.snapshot_id = n.snapshot_id
    WHERE n.reason <> 'peak' AND p.end_kind = 'exit' AND j.end_ns >= p.end_ns),
  falls AS MATERIALIZED (
    SELECT process_id, at_ns, reason, level, level <= max(lag(level, 1, -1) OVER w, lag(level, 2, -1) OVER w) AS falls
    FROM levels WINDOW w AS (PARTITION BY process_id ORDER BY reason = 'end', at_ns, snapshot_id)),
  tops AS ( -- in an aggregate with one max, other columns are of the row that has it
    SELECT process_id, max(at_ns) AS at_ns, level FROM falls WHERE reason = 'regular' AND NOT falls GROUP BY process_id),
  lasts AS (SELECT process_id, max(at_ns) AS at_ns, level FROM falls WHERE reason = 'regular' GROUP BY process_id),
  settled AS ( -- the last snapshot that exceeds the level at the end by more than 5 %
    SELECT f.process_id, max(f.at_ns) AS at_ns
    FROM falls AS f JOIN lasts AS l ON l.process_id = f.process_id
    WHERE f.reason = 'regular' AND 20 * f.level > 21 * l.level
    GROUP BY f.process_id),
  teardowns AS (
    SELECT t.process_id, max(f.at_ns) AS begin_ns
    FROM tops AS t
    JOIN lasts AS l ON l.process_id = t.process_id
    JOIN settled AS s ON s.process_id = t.process_id
    JOIN falls AS e ON e.process_id = t.process_id AND e.reason = 'end'
    JOIN falls AS f ON f.process_id = t.process_id AND f.reason = 'regular' AND f.at_ns >= t.at_ns
    WHERE 2 * e.level <= t.level AND 4 * l.level <= 3 * t.level AND 20 * f.level >= 19 * t.level
    GROUP BY t.process_id HAVING 4 * (s.at_ns - max(f.at_ns)) >= 3 * (l.at_ns - max(f.at_ns)))
SELECT j.process_id, j.start_ns, coalesce(t.begin_ns, j.end_ns)
FROM _judged AS j
LEFT JOIN teardowns AS t ON t.process_id = j.process_id AND 2 * t.begin_ns >= j.start_ns + j.end_ns;
