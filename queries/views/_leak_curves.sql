-- SPDX-License-Identifier: MIT
-- _leak_curves: one row per step of the curves of a call site with more than two leaked blocks, for _site_shapes.
--
-- Leaked blocks come to stay when they are allocated. Their bytes are known exactly for each part of the analysis range (see
-- _judged). In each part, they precede the snapshots of live bytes. If some stacks are suppressed, each rule and the rest have
-- a curve of their own. Each of these is a part of the call site, whose live bytes are only known as a whole.
CREATE VIEW _leak_curves(
  curve,             -- 'leaks'
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: stacks that match no rule
  part,              -- 0 to 63: part of the analysis range
  step,              -- order within the part
  at_ns,             -- time of the snapshot; NULL: allocations
  stays,             -- bytes that came to stay; a block of 0 bytes counts as one byte
  site_stays,        -- the same of all stacks of the call site
  change,            -- change of live bytes since the previous snapshot
  total,             -- sum of all bytes that stay
  site_total         -- the same of all stacks of the call site
) AS
WITH
  totals AS (
    SELECT *, sum(blocks) OVER w AS all_blocks, sum(bytes) OVER w AS total,
      sum(bytes) OVER (PARTITION BY process_id, call_site_id) AS site_total
    FROM site_leak_times WINDOW w AS (PARTITION BY process_id, call_site_id, rule_id)),
  leaking AS MATERIALIZED (SELECT * FROM totals WHERE all_blocks > 2),
  lost AS MATERIALIZED (SELECT DISTINCT process_id, call_site_id, rule_id, total, site_total FROM leaking)
SELECT 'leaks', process_id, call_site_id, rule_id, part, 0, NULL, bytes, bytes, 0, total, site_total
FROM leaking
UNION ALL
SELECT 'leaks', k.process_id, k.call_site_id, k.rule_id, o.part, 0, NULL, 0, o.bytes, 0, k.total, k.site_total
FROM lost AS k
JOIN leaking AS o ON o.process_id = k.process_id AND o.call_site_id IS k.call_site_id AND o.rule_id IS NOT k.rule_id
WHERE k.total < k.site_total
UNION ALL
SELECT 'leaks', k.process_id, k.call_site_id, k.rule_id,
  min(63, max(0, CAST(64.0 * (n.at_ns - p.start_ns) / max(1, p.end_ns - p.start_ns) AS INTEGER))), n.snapshot_id, n.at_ns,
  0, 0, s.change_bytes, k.total, k.site_total
FROM lost AS k
JOIN snapshot_sites AS s ON s.call_site_id IS k.call_site_id
JOIN snapshots AS n ON n.snapshot_id = s.snapshot_id AND n.process_id = k.process_id
JOIN _judged AS p ON p.process_id = k.process_id
WHERE n.reason = 'regular' AND n.at_ns <= p.end_ns;
