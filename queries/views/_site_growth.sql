-- SPDX-License-Identifier: MIT
-- _site_growth: one row per call site whose live bytes changed between regular snapshots, of which site_growth is made.
--
-- The end is not looked at: what a program frees only there has grown until then. What is live at a snapshot and at every
-- later one came to stay: the least of these, snapshot by snapshot, is the rise whose pattern is told (see the view leaks).
-- Beside it a queue may fill and drain: then how high the level was before says nothing of the rise:
-- what passes after the middle of the rise tells it from a queue alone, whose last filling is the rise. Of much more than the rise
-- the samples show too little to tell.
CREATE VIEW _site_growth(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  snapshots,         -- of the process, the peak and the end left out
  from_bytes,        -- live at the first of them
  to_bytes,          -- live at the last of them
  pattern,           -- how they rose; NULL: they did not
  since_ns,          -- when the first tenth of the rise was reached
  until_ns,          -- when nine tenths of it were reached
  bytes_per_s        -- between these two instants; NULL: they are less than a tenth of the process's life apart, which tells no rate
) AS
WITH
  numbered AS MATERIALIZED (
    SELECT snapshot_id, process_id, at_ns, row_number() OVER (PARTITION BY process_id ORDER BY at_ns, snapshot_id) AS n,
      count(*) OVER (PARTITION BY process_id) AS n_all
    FROM snapshots WHERE reason = 'regular'),
  levels AS (
    SELECT y.process_id, y.call_site_id, y.at_ns, y.live_bytes, n.n, n.n_all,
      min(y.live_bytes) OVER (PARTITION BY y.process_id, y.call_site_id ORDER BY n.n DESC) AS kept,
      max(y.live_bytes) OVER (PARTITION BY y.process_id, y.call_site_id ORDER BY n.n) AS highest
    FROM _site_levels AS y JOIN numbered AS n ON n.snapshot_id = y.snapshot_id),
  ends AS MATERIALIZED (
    SELECT process_id, call_site_id, n_all, max(highest) AS highest,
      coalesce(max(live_bytes) FILTER (WHERE n = 1), 0) AS from_bytes,
      max(kept) AS to_bytes, max(2 * live_bytes < highest) AS fell, max(2 * n <= n_all) AS has_half
    FROM levels GROUP BY process_id, call_site_id),
  floors AS (
    SELECT l.*, max(0, l.kept - e.from_bytes) AS so_far, e.to_bytes - e.from_bytes AS total, e.from_bytes, e.to_bytes, e.fell
    FROM levels AS l JOIN ends AS e ON e.process_id = l.process_id AND e.call_site_id IS l.call_site_id
    WHERE e.to_bytes > e.from_bytes),
  rises AS (
    SELECT *, so_far - lag(so_far, 1, 0) OVER (PARTITION BY process_id, call_site_id ORDER BY n) AS rise
    FROM floors),
  shapes AS MATERIALIZED (
    SELECT process_id, call_site_id, n_all, max(total) AS total, max(fell) AS fell, max(rise) AS largest, count(*) AS changes,
      min(n) FILTER (WHERE 10 * so_far >= total) AS first_n, min(at_ns) FILTER (WHERE 10 * so_far >= total) AS since_ns,
      min(n) FILTER (WHERE 2 * so_far >= total) AS middle_n,
      min(n) FILTER (WHERE 10 * so_far >= 9 * total) AS last_n,
      min(at_ns) FILTER (WHERE 10 * so_far >= 9 * total) AS until_ns,
      coalesce(sum(rise) FILTER (WHERE 2 * n > n_all), 0) AS late,
      max(live_bytes) FILTER (WHERE 2 * n > n_all) - coalesce(max(live_bytes) FILTER (WHERE 2 * n <= n_all), 0) AS since_half
    FROM rises GROUP BY process_id, call_site_id),
  before AS (
    SELECT s.process_id, s.call_site_id, max(l.live_bytes) FILTER (WHERE l.n < s.first_n) AS before_first,
      max(l.live_bytes) FILTER (WHERE l.n >= s.first_n) AS since_first,
      max(l.live_bytes - l.kept) FILTER (WHERE l.n >= s.middle_n) AS passing
    FROM shapes AS s JOIN levels AS l ON l.process_id = s.process_id AND l.call_site_id IS s.call_site_id
    GROUP BY s.process_id, s.call_site_id)
SELECT e.process_id, e.call_site_id, e.n_all, e.from_bytes, e.to_bytes,
  CASE
    WHEN s.total IS NULL THEN NULL
    WHEN s.n_all < 8 THEN 'burst'
    WHEN (4 * b.passing < s.total OR b.passing > 2 * s.total) AND (5 * s.late >= s.total AND 2 * s.since_half < s.late
      OR b.before_first > 0 AND 2 * (b.since_first - b.before_first) < s.total) THEN iif(s.fell, 'saw tooth', 'plateau')
    WHEN s.changes < 3 OR 2 * s.largest >= s.total THEN 'burst'
    WHEN 3 * s.last_n < 2 * s.n_all THEN 'plateau'
    WHEN 2 * s.first_n > s.n_all THEN 'late'
    ELSE 'steady'
  END,
  s.since_ns, s.until_ns, iif(10 * (s.until_ns - s.since_ns) >= p.end_ns - p.start_ns, 0.8 * s.total * 1e9 / nullif(s.until_ns - s.since_ns, 0), NULL)
FROM ends AS e
JOIN processes AS p ON p.process_id = e.process_id
LEFT JOIN shapes AS s ON s.process_id = e.process_id AND s.call_site_id IS e.call_site_id
LEFT JOIN before AS b ON b.process_id = e.process_id AND b.call_site_id IS e.call_site_id;
