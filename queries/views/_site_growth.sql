-- SPDX-License-Identifier: MIT
-- _site_growth: one row per call site whose live bytes changed between snapshots, of which site_growth is made.
CREATE VIEW _site_growth(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  snapshots,         -- of the process, its peak left out
  changes,           -- snapshots at which the site's live bytes were others than before
  from_bytes,        -- live at the first snapshot
  to_bytes,          -- live at the last snapshot
  slope_bytes_per_s, -- of the straight line through all snapshots; NULL: all are at one instant
  fit,               -- how well the line explains the changes (r squared), 0 to 1; NULL: there are none
  largest_rise_bytes -- most that one interval between snapshots added to what was never given back afterwards
) AS
WITH
  numbered AS MATERIALIZED (
    SELECT snapshot_id, process_id, at_ns, at_ns / 1e9 AS x,
      row_number() OVER later AS n_later, sum(at_ns / 1e9) OVER later AS x_later
    FROM snapshots
    WHERE reason <> 'peak'
    WINDOW later AS (PARTITION BY process_id ORDER BY at_ns DESC, snapshot_id DESC)),
  axis AS MATERIALIZED (
    SELECT process_id, count(*) AS n, sum(x) AS x, sum(x * x) AS xx, min(at_ns) AS first_ns
    FROM numbered GROUP BY process_id),
  levels AS (
    SELECT n.process_id, s.call_site_id, n.at_ns, n.snapshot_id, s.change_bytes, n.n_later, n.x_later,
      sum(s.change_bytes) OVER site AS y,
      n.n_later - lead(n.n_later, 1, 0) OVER site AS n_held
    FROM snapshot_sites AS s JOIN numbered AS n ON n.snapshot_id = s.snapshot_id
    WINDOW site AS (PARTITION BY n.process_id, s.call_site_id ORDER BY n.at_ns, n.snapshot_id)),
  -- What is live at a snapshot and at every later one: the least of these is there to stay.
  floors AS (
    SELECT *, min(y) OVER (
        PARTITION BY process_id, call_site_id ORDER BY at_ns DESC, snapshot_id DESC) AS kept
    FROM levels),
  rises AS (
    SELECT *, kept - lag(kept, 1, 0) OVER (
        PARTITION BY process_id, call_site_id ORDER BY at_ns, snapshot_id) AS rise
    FROM floors),
  moments AS (
    SELECT l.process_id, l.call_site_id, a.n, a.x, a.xx, sum(l.change_bytes) AS to_bytes,
      coalesce(sum(l.change_bytes) FILTER (WHERE l.at_ns = a.first_ns), 0) AS from_bytes, count(*) AS changes,
      1.0 * sum(l.y * l.n_held) AS y, sum(1.0 * l.y * l.y * l.n_held) AS yy, sum(l.change_bytes * l.x_later) AS xy,
      max(l.rise) AS largest_rise
    FROM rises AS l JOIN axis AS a ON a.process_id = l.process_id
    GROUP BY l.process_id, l.call_site_id)
SELECT process_id, call_site_id, n, changes, from_bytes, to_bytes, (n * xy - x * y) / nullif(n * xx - x * x, 0),
  (n * xy - x * y) * (n * xy - x * y) / nullif((n * xx - x * x) * (n * yy - y * y), 0), largest_rise
FROM moments;
