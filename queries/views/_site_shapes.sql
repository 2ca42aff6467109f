-- SPDX-License-Identifier: MIT
-- _site_shapes: one row per curve of a call site, with its pattern: the one rule behind the patterns of leaks and growth.
--
-- The rule compares two curves. One has the bytes that came to stay; the other has the passing bytes, which are all other live
-- bytes. For leaks, the allocations of leaked blocks came to stay (_leak_curves). For growth, the bytes below which no later
-- snapshot falls came to stay (_growth_curves). The life begins when one tenth of the staying bytes has come. The analysis range
-- (growth: _growth_range) has 64 parts. The first pattern that holds is the result:
-- 'plateau', or 'saw tooth' if live bytes once fell to less than half of an earlier value: nothing grows, for one of these reasons:
--   A full cache, the oldest goes first. Before the staying bytes begin, at least half as many bytes pass. In the last quarter
--   of the life, fewer than half of these pass.
--   A queue that fills and drains. At least half as many bytes were there shortly before; from two parts later on, less
--   than a quarter of them.
--   A cache where any block goes. The second half of the life never has a quarter more than the staying bytes. Passing bytes
--   decrease by a quarter. The last quarter of the life is less than a twentieth higher than the third.
--   Leaks only: the rest of such a cache, from a part of the life. Live bytes vary by less than half of the staying bytes. From
--   the first to the last quarter, neither their top nor their floor rises by a twentieth of the staying bytes. Few blocks of
--   such a time stay, and they replace blocks that were allocated before it.
--   Growth only, whose floor comes from snapshots, which miss the lowest levels of fast changes. More than twice as much passes
--   as stays. The second half of the life is higher than the first by less than half of what came in it.
-- 'burst': half or more came at one snapshot, or in one part. 'plateau': nine tenths had come in the first two thirds.
-- 'late': nine tenths came in the second half. 'steady': everything else.
-- A queue that fills and drains next to a leak is not a plateau: it is there while the staying bytes come, and still at the end.
-- If the analysis range has fewer than eight regular snapshots, passing bytes are unknown, and growth looks the same as a burst.
-- The bytes of the last tooth of a saw tooth look as if they came to stay, because it does not fall any more. So the rate of
-- growth is measured from the first bottom to the last one. A bottom ends a fall by half of the deepest fall or more. This rule
-- holds if the deepest fall is a fifth of the growth or more, and the rise since the last bottom is less than 1.5 times as high.
CREATE VIEW _site_shapes(
  curve,             -- 'leaks' or 'growth'
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: stacks that match no rule
  pattern,           -- 'steady', 'late', 'burst', 'plateau' or 'saw tooth'; NULL: see _unjudged
  rise_bytes,        -- bytes that came to stay between the next two times; NULL: curve is 'leaks'
  since_ns,          -- snapshot at which one tenth of the staying bytes had come, or the first bottom; NULL: curve is 'leaks'
  until_ns           -- snapshot at which nine tenths had come, or the last bottom; NULL: curve is 'leaks'
) AS
WITH
  curves AS (SELECT * FROM _leak_curves UNION ALL SELECT * FROM _growth_curves),
  sums AS (
    SELECT *, sum(stays) OVER w AS so_far, sum(change) OVER w AS level, sum(change - site_stays) OVER w AS passes,
      max(part, lead(part, 1, 64) OVER w - 1) AS to_part -- the level lasts until the next step
    FROM curves
    WINDOW w AS (PARTITION BY curve, process_id, call_site_id, rule_id ORDER BY part, step ROWS UNBOUNDED PRECEDING)),
  placed AS (
    SELECT *, max(level) OVER (
        PARTITION BY curve, process_id, call_site_id, rule_id ORDER BY part, step ROWS UNBOUNDED PRECEDING) AS highest,
      max(level) FILTER (WHERE 10 * so_far >= total) OVER (
        PARTITION BY curve, process_id, call_site_id, rule_id ORDER BY part, step ROWS UNBOUNDED PRECEDING) - level AS fall,
      min(part) FILTER (WHERE 10 * so_far >= total) OVER (PARTITION BY curve, process_id, call_site_id, rule_id) AS begins
    FROM sums),
  falls AS (SELECT *, max(fall) OVER (PARTITION BY curve, process_id, call_site_id, rule_id) AS deepest FROM placed),
  teeth AS (
    SELECT *, change < 0 AND 2 * fall >= deepest AND 5 * deepest >= total
        AND coalesce(lead(change) OVER (PARTITION BY curve, process_id, call_site_id, rule_id ORDER BY part, step), 0) >= 0 AS is_bottom
    FROM falls),
  marks AS (
    SELECT curve, process_id, call_site_id, rule_id, max(total) AS total, max(site_total) AS site_total, max(begins) AS begins,
      min(part) FILTER (WHERE 10 * so_far >= 9 * total) AS ends,
      min(at_ns) FILTER (WHERE 10 * so_far >= total) AS since_ns,
      min(at_ns) FILTER (WHERE 10 * so_far >= 9 * total) AS until_ns,
      max(deepest) AS deepest,
      min(so_far) FILTER (WHERE is_bottom) AS first_bytes, max(so_far) FILTER (WHERE is_bottom) AS last_bytes,
      min(at_ns) FILTER (WHERE is_bottom) AS first_ns, max(at_ns) FILTER (WHERE is_bottom) AS last_ns,
      max(stays) AS largest, max(2 * level < highest) AS fell,
      max(passes) FILTER (WHERE to_part >= 2 * begins - 64 AND 3 * part < 64 + 2 * begins) AS before,
      max(passes) FILTER (WHERE part < begins AND 4 * to_part >= 5 * begins - 72) AS just_before,
      -- from two parts later on: snapshots may be that far apart, so the last one before the bytes were freed does not count
      max(passes) FILTER (WHERE to_part >= begins + 2) AS since,
      max(passes) FILTER (WHERE 2 * to_part >= 64 + begins) AS in_half,
      max(passes) FILTER (WHERE 4 * to_part >= 192 + begins) AS after,
      coalesce(max(level) FILTER (WHERE part < 32), 0) AS first_top,
      max(level) FILTER (WHERE to_part >= 32) AS top,
      max(level) FILTER (WHERE to_part >= 48) AS last_top,
      max(level) FILTER (WHERE to_part >= 32 AND part < 48) AS third_top,
      max(level) FILTER (WHERE to_part >= 1) - min(level) FILTER (WHERE to_part >= 1) AS band,
      max(level) FILTER (WHERE to_part >= 48) - max(level) FILTER (WHERE to_part >= 1 AND part < 16) AS top_rise,
      min(level) FILTER (WHERE to_part >= 48) - min(level) FILTER (WHERE to_part >= 1 AND part < 16) AS floor_rise,
      sum(stays) FILTER (WHERE part >= 32) AS late_stays,
      sum(stays) FILTER (WHERE part >= 48) AS last_stays
    FROM teeth GROUP BY curve, process_id, call_site_id, rule_id),
  rates AS (SELECT *, 2 * (total - last_bytes) < 3 * deepest AND last_bytes > first_bytes AS has_teeth FROM marks),
  looks AS MATERIALIZED (
    SELECT p.curve, n.process_id, count(*) AS n
    FROM snapshots AS n
    JOIN (SELECT 'leaks' AS curve, * FROM _judged UNION ALL SELECT 'growth', * FROM _growth_range) AS p ON p.process_id = n.process_id
    WHERE n.reason = 'regular' AND n.at_ns BETWEEN p.start_ns AND p.end_ns GROUP BY p.curve, n.process_id)
SELECT m.curve, m.process_id, m.call_site_id, m.rule_id,
  CASE
    WHEN u.process_id IS NOT NULL THEN NULL
    WHEN n.n >= 8
      AND (2 * before >= total AND 2 * before <= 3 * site_total AND 4 * in_half >= before AND 2 * coalesce(after, 0) < before
        OR 2 * just_before >= total AND 4 * coalesce(since, 0) < just_before
        OR 4 * top <= 5 * site_total AND 4 * coalesce(after, 0) <= 3 * since AND 20 * last_stays >= total
          AND 20 * (last_top - third_top) < top
        OR m.curve = 'leaks' AND top >= m.site_total AND 2 * band < total AND 20 * top_rise < total AND 20 * floor_rise < total
          AND 20 * last_stays >= total
        OR m.curve = 'growth' AND since > 2 * total AND 5 * late_stays >= total AND 2 * (top - first_top) < late_stays)
      THEN iif(fell, 'saw tooth', 'plateau')
    WHEN m.curve = 'growth' AND coalesce(n.n, 0) < 8 OR 2 * largest >= total THEN 'burst'
    WHEN ends < 43 THEN 'plateau'
    WHEN begins >= 32 THEN 'late'
    ELSE 'steady'
  END,
  iif(m.curve = 'growth', iif(has_teeth, last_bytes - first_bytes, 0.8 * total), NULL),
  iif(m.curve = 'growth', iif(has_teeth, first_ns, since_ns), NULL), iif(m.curve = 'growth', iif(has_teeth, last_ns, until_ns), NULL)
FROM rates AS m LEFT JOIN looks AS n ON n.curve = m.curve AND n.process_id = m.process_id LEFT JOIN _unjudged AS u ON u.process_id = m.process_id;
