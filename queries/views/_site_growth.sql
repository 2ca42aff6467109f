-- SPDX-License-Identifier: MIT
-- _site_growth: one row per call site whose live bytes changed between regular snapshots. It fills site_growth.
CREATE VIEW _site_growth(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  snapshots,         -- number of regular snapshots of the process before a teardown (_growth_range)
  from_bytes,        -- live bytes at the first of them
  to_bytes,          -- live bytes at the last of them
  pattern,           -- how they rose: see _site_shapes; NULL: they did not rise, or see _unjudged
  since_ns,          -- when the first tenth of the rise had come
  until_ns,          -- when nine tenths of it had come; of a saw tooth, the first and the last bottom
  bytes_per_s,       -- per second of recorded time between these two times; NULL: they are less than a tenth of the analysis range apart, too close for a rate
  grown_bytes_margin -- half of the width of the 95 % interval of to_bytes - from_bytes; NULL: it is exact
) AS
WITH
  numbered AS MATERIALIZED (
    SELECT snapshot_id, process_id, row_number() OVER (PARTITION BY process_id ORDER BY at_ns, snapshot_id) AS n,
      count(*) OVER (PARTITION BY process_id) AS n_all
    FROM snapshots JOIN _growth_range AS j USING (process_id) WHERE reason = 'regular' AND at_ns <= j.end_ns),
  ends AS (
    SELECT n.process_id, s.call_site_id, n.n_all, coalesce(sum(s.change_bytes) FILTER (WHERE n.n = 1), 0) AS from_bytes,
      sum(s.change_bytes) AS to_bytes
    FROM numbered AS n JOIN snapshot_sites AS s ON s.snapshot_id = n.snapshot_id
    GROUP BY n.process_id, s.call_site_id),
  -- Without rows, the blocks that are live at both ends are unknown. Then the margin is the largest possible one.
  squares AS MATERIALIZED (
    SELECT process_id, coalesce(call_site_id, -1) AS site, bytes_square FROM _growth_squares),
  have AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM allocation_rows) AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'slim' AND value + 0 = 1) AS rows),
  -- SQLite makes an index for =, not for IS.
  shapes AS MATERIALIZED (
    SELECT *, coalesce(call_site_id, -1) AS site, (
        SELECT sum(max(0, min(coalesce(w.end_ns, s.until_ns), s.until_ns) - max(w.start_ns, s.since_ns)) * w.recorded_share)
        FROM windows AS w WHERE w.process_id = s.process_id) AS recorded_ns -- no block is allocated between two windows
    FROM site_shapes AS s WHERE curve = 'growth')
SELECT e.process_id, e.call_site_id, e.n_all, e.from_bytes, e.to_bytes, s.pattern, s.since_ns, s.until_ns,
  iif(s.pattern IS NOT NULL AND 10 * (s.until_ns - s.since_ns) >= p.end_ns - p.start_ns,
    s.rise_bytes * 1e9 / nullif(coalesce(s.recorded_ns, s.until_ns - s.since_ns), 0), NULL),
  sqrt(iif(o.sample_bytes > 0, iif(h.rows, coalesce(q.bytes_square, 0), 3.841459 * o.sample_bytes * (e.from_bytes + e.to_bytes)), NULL))
FROM ends AS e
JOIN _growth_range AS p ON p.process_id = e.process_id
JOIN processes AS o ON o.process_id = e.process_id
CROSS JOIN have AS h
LEFT JOIN squares AS q ON q.process_id = e.process_id AND q.site = coalesce(e.call_site_id, -1)
LEFT JOIN shapes AS s ON s.process_id = e.process_id AND s.site = coalesce(e.call_site_id, -1);
