-- SPDX-License-Identifier: MIT
-- _growth_curves: one row per step of the curves of a call site whose live bytes rose between regular snapshots, for _site_shapes.
--
-- Bytes that came to stay are live at a snapshot and at every later one: the minimum of these, the floor. Bytes below the floor
-- of the first snapshot have not grown. A teardown is ignored (see _growth_range): blocks that are only freed there have grown.
CREATE VIEW _growth_curves(
  curve,             -- 'growth'
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- NULL: nothing is suppressed
  part,              -- 0 to 63: part of the analysis range of growth
  step,              -- order of the snapshots
  at_ns,             -- time of the snapshot
  stays,             -- bytes that came to stay
  site_stays,        -- the same, plus at the first snapshot the bytes that stay to the last one
  change,            -- change of live bytes since the previous snapshot
  total,             -- sum of all bytes that stay
  site_total         -- as total
) AS
WITH
  looks AS MATERIALIZED (
    SELECT n.process_id, n.snapshot_id, n.at_ns,
      row_number() OVER (PARTITION BY n.process_id ORDER BY n.at_ns, n.snapshot_id) AS n,
      min(63, max(0, CAST(64.0 * (n.at_ns - p.start_ns) / max(1, p.end_ns - p.start_ns) AS INTEGER))) AS part
    FROM snapshots AS n JOIN _growth_range AS p ON p.process_id = n.process_id
    WHERE n.reason = 'regular' AND n.at_ns <= p.end_ns),
  changes AS (
    SELECT n.process_id, s.call_site_id, n.n, n.part, n.at_ns, s.change_bytes AS change
    FROM looks AS n JOIN snapshot_sites AS s ON s.snapshot_id = n.snapshot_id),
  ends AS (
    SELECT *, coalesce(sum(change) FILTER (WHERE n = 1) OVER w, 0) AS from_bytes, sum(change) OVER w AS to_bytes
    FROM changes WINDOW w AS (PARTITION BY process_id, call_site_id)),
  levels AS (
    SELECT *, sum(change) OVER (PARTITION BY process_id, call_site_id ORDER BY n) AS level
    FROM ends WHERE to_bytes > from_bytes),
  floors AS (
    SELECT *, min(level) OVER (PARTITION BY process_id, call_site_id ORDER BY n DESC) AS floor,
      to_bytes - iif(from_bytes > 0, min(level) OVER (PARTITION BY process_id, call_site_id), 0) AS total
    FROM levels),
  rises AS (
    SELECT *, floor - lag(floor, 1, iif(n = 1, floor, 0)) OVER (PARTITION BY process_id, call_site_id ORDER BY n) AS stays
    FROM floors)
SELECT 'growth', process_id, call_site_id, NULL, part, n, at_ns, stays, iif(n = 1, floor, stays), change, total, total
FROM rises;
