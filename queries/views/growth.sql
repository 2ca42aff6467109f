-- SPDX-License-Identifier: MIT
-- growth: one row per call site whose live bytes keep rising from snapshot to snapshot.
--
-- A straight line is laid through the live bytes of all snapshots of the process; a site is listed when there are at
-- least four of them, it changed in three or more, the line rises, and fit is 0.5 or more.
CREATE VIEW growth(
  process_id,        -- joins processes
  slope_bytes_per_s, -- slope of the line
  from_bytes,        -- live at the first snapshot
  to_bytes,          -- live at the last snapshot
  fit,               -- how well the line explains the changes (r squared), 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  numbered AS MATERIALIZED (
    SELECT snapshot_id, process_id, at_ns, at_ns / 1e9 AS x,
      row_number() OVER later AS n_later, sum(at_ns / 1e9) OVER later AS x_later
    FROM snapshots
    WHERE at_ns > 0 OR reason <> 'peak'
    WINDOW later AS (PARTITION BY process_id ORDER BY at_ns DESC, snapshot_id DESC)),
  axis AS MATERIALIZED (
    SELECT process_id, count(*) AS n, sum(x) AS x, sum(x * x) AS xx, max(at_ns) AS last_ns, min(at_ns) AS first_ns
    FROM numbered GROUP BY process_id HAVING count(*) >= 4),
  steps AS (
    SELECT s.snapshot_id, s.backtrace_id, s.live_bytes - lag(s.live_bytes, 1, 0) OVER (
        PARTITION BY n.process_id, s.backtrace_id ORDER BY n.at_ns, n.snapshot_id) AS delta
    FROM snapshot_backtraces AS s JOIN numbered AS n ON n.snapshot_id = s.snapshot_id),
  site_steps AS (
    SELECT s.snapshot_id, b.call_site_id, sum(s.delta) AS delta
    FROM steps AS s JOIN backtraces AS b ON b.backtrace_id = s.backtrace_id
    GROUP BY s.snapshot_id, b.call_site_id HAVING sum(s.delta) <> 0),
  levels AS (
    SELECT n.process_id, s.call_site_id, n.at_ns, s.delta, n.n_later, n.x_later,
      sum(s.delta) OVER site AS y,
      n.n_later - lead(n.n_later, 1, 0) OVER site AS n_held
    FROM site_steps AS s JOIN numbered AS n ON n.snapshot_id = s.snapshot_id
    WINDOW site AS (PARTITION BY n.process_id, s.call_site_id ORDER BY n.at_ns, n.snapshot_id)),
  moments AS (
    SELECT l.process_id, l.call_site_id, a.n, a.x, a.xx, sum(l.delta) AS to_bytes,
      coalesce(sum(l.delta) FILTER (WHERE l.at_ns = a.first_ns), 0) AS from_bytes, count(*) AS changes,
      1.0 * sum(l.y * l.n_held) AS y, sum(1.0 * l.y * l.y * l.n_held) AS yy, sum(l.delta * l.x_later) AS xy
    FROM levels AS l JOIN axis AS a ON a.process_id = l.process_id
    GROUP BY l.process_id, l.call_site_id),
  lines AS (
    SELECT process_id, call_site_id, from_bytes, to_bytes, changes,
      (n * xy - x * y) / nullif(n * xx - x * x, 0) AS slope,
      (n * xy - x * y) * (n * xy - x * y) / nullif((n * xx - x * x) * (n * yy - y * y), 0) AS fit
    FROM moments)
SELECT l.process_id, round(l.slope, 3) AS slope_bytes_per_s, l.from_bytes, l.to_bytes, round(l.fit, 4),
  s.function, s.source, s.line, s.module, l.call_site_id
FROM lines AS l
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
WHERE l.slope > 0 AND l.fit >= 0.5 AND l.changes >= 3 AND l.to_bytes > l.from_bytes
ORDER BY slope_bytes_per_s DESC, l.process_id, l.call_site_id;
