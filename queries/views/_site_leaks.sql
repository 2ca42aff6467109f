-- SPDX-License-Identifier: MIT
-- _site_leaks: one row per leaking call site and rule that suppresses some of its stacks, of which site_leaks is made.
--
-- The pattern (see the view leaks) is read off the births of the leaked blocks, part by part of the process's life, and off the
-- live bytes of the call site. What of these is not among the leaked blocks of that time goes away later (`passing`). No further
-- growth is, first, where new blocks take the place of as many old ones, as in a cache that is full: what passes gets less and less
-- from where the leaked ones begin to the end; second, where as much was there and gone just before they began, as in a queue
-- that fills and drains; third, where hardly more was ever there and the level rises no further: a cache that replaces any block.
-- What was gone just before is looked for two parts later: snapshots may be as far apart, and the last one before it went is no level since.
-- A queue that fills and drains beside a leak is none of these: it is there while leaked blocks are born, and not less at the end.
CREATE VIEW _site_leaks(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: the stacks have no call site
  rule_id,           -- joins suppressions; NULL: the stacks that no rule names
  stacks,            -- distinct stacks that leak
  leaked_blocks,     -- blocks that were never freed
  leaked_bytes,      -- their requested bytes
  leaked_first_ns,   -- birth of the first of them
  leaked_last_ns,    -- birth of the last of them
  pattern            -- how they came over time
) AS
WITH RECURSIVE
  births AS (
    SELECT process_id, call_site_id, rule_id, part, sum(blocks) AS blocks, sum(bytes) AS bytes,
      sum(sum(bytes)) OVER (PARTITION BY process_id, call_site_id, rule_id ORDER BY part) AS so_far,
      sum(sum(bytes)) OVER (PARTITION BY process_id, call_site_id, rule_id) AS total
    FROM _leak_births GROUP BY process_id, call_site_id, rule_id, part),
  shapes AS MATERIALIZED (
    SELECT process_id, call_site_id, rule_id, max(total) AS total, max(bytes) AS largest,
      min(part) FILTER (WHERE 10 * so_far >= total) AS first_part,
      min(part) FILTER (WHERE 10 * so_far >= 9 * total) AS last_part,
      coalesce(sum(bytes) FILTER (WHERE part >= 48), 0) AS last_quarter
    FROM births GROUP BY process_id, call_site_id, rule_id HAVING sum(blocks) > 1), -- one block has no shape
  levels AS (
    SELECT y.process_id, y.call_site_id, y.live_bytes,
      min(63, max(0, CAST(64.0 * (y.at_ns - p.start_ns) / max(1, p.end_ns - p.start_ns) AS INTEGER))) AS part,
      max(y.live_bytes) OVER (PARTITION BY y.process_id, y.call_site_id ORDER BY y.at_ns, y.snapshot_id) AS highest,
      row_number() OVER (PARTITION BY y.process_id, y.call_site_id ORDER BY y.at_ns, y.snapshot_id) AS n
    FROM _site_levels AS y JOIN _judged AS p ON p.process_id = y.process_id
    WHERE y.reason = 'regular' AND y.at_ns <= p.end_ns
      AND EXISTS (SELECT 1 FROM shapes AS s WHERE s.process_id = y.process_id AND s.call_site_id IS y.call_site_id)),
  -- One row for each part and leaking call site: the highest level of the part, and the last, which holds on.
  parts(part) AS (VALUES (0) UNION ALL SELECT part + 1 FROM parts WHERE part < 63),
  sites AS MATERIALIZED (
    SELECT b.process_id, b.call_site_id, sum(b.bytes) AS total FROM births AS b
    WHERE EXISTS (SELECT 1 FROM shapes AS s WHERE s.process_id = b.process_id AND s.call_site_id IS b.call_site_id)
    GROUP BY b.process_id, b.call_site_id),
  site_births AS MATERIALIZED (SELECT process_id, call_site_id, part, sum(bytes) AS bytes FROM births GROUP BY process_id, call_site_id, part),
  site_parts AS MATERIALIZED (
    SELECT process_id, call_site_id, part, max(live_bytes) AS top, max(n) AS n, live_bytes AS last, max(2 * live_bytes < highest) AS fell
    FROM levels GROUP BY process_id, call_site_id, part),
  grid AS (
    SELECT s.process_id, s.call_site_id, s.total, k.part, l.top, l.last, l.fell,
      sum(coalesce(b.bytes, 0)) OVER (PARTITION BY s.process_id, s.call_site_id ORDER BY k.part) AS so_far,
      count(l.last) OVER (PARTITION BY s.process_id, s.call_site_id ORDER BY k.part) AS seen
    FROM sites AS s CROSS JOIN parts AS k
    LEFT JOIN site_births AS b ON b.process_id = s.process_id AND b.call_site_id IS s.call_site_id AND b.part = k.part
    LEFT JOIN site_parts AS l ON l.process_id = s.process_id AND l.call_site_id IS s.call_site_id AND l.part = k.part),
  curves AS MATERIALIZED (
    SELECT process_id, call_site_id, total AS site_total, part, fell, so_far,
      coalesce(top, max(last) OVER (PARTITION BY process_id, call_site_id, seen), 0) AS level
    FROM grid),
  passing AS (
    SELECT s.process_id, s.call_site_id, s.rule_id, s.total, s.last_quarter, max(c.site_total) AS site_total, max(c.fell) AS fell,
      max(c.level - c.so_far) FILTER (
        WHERE c.part >= 2 * s.first_part - 64 AND 3 * c.part < 64 + 2 * s.first_part) AS before,
      max(c.level - c.so_far) FILTER (WHERE c.part < s.first_part AND 4 * c.part >= 5 * s.first_part - 72) AS just_before,
      max(c.level - c.so_far) FILTER (WHERE c.part >= s.first_part + 2) AS since,
      max(c.level - c.so_far) FILTER (WHERE 2 * c.part >= 64 + s.first_part) AS in_half,
      max(c.level - c.so_far) FILTER (WHERE 4 * c.part >= 192 + s.first_part) AS after,
      max(c.level) FILTER (WHERE c.part >= 32) AS highest,
      max(c.level) FILTER (WHERE c.part >= 48) - max(c.level) FILTER (WHERE c.part BETWEEN 32 AND 47) AS rise
    FROM shapes AS s JOIN curves AS c ON c.process_id = s.process_id AND c.call_site_id IS s.call_site_id
    GROUP BY s.process_id, s.call_site_id, s.rule_id),
  judged AS (
    SELECT s.*, r.fell,
      (SELECT count(*) >= 8 FROM snapshots AS n WHERE n.process_id = s.process_id) AND r.fell IS NOT NULL
      AND (2 * r.before >= s.total AND 2 * r.before <= 3 * r.site_total AND 4 * r.in_half >= r.before AND 2 * coalesce(r.after, 0) < r.before
        OR 2 * r.just_before >= s.total AND 4 * coalesce(r.since, 0) < r.just_before
        OR 4 * r.highest <= 5 * r.site_total AND 4 * coalesce(r.after, 0) <= 3 * r.since
          AND 20 * s.last_quarter >= s.total AND 20 * r.rise < r.highest) AS is_bounded
    FROM shapes AS s
    JOIN passing AS r ON r.process_id = s.process_id AND r.call_site_id IS s.call_site_id AND r.rule_id IS s.rule_id),
  totals AS (
    SELECT process_id, call_site_id, rule_id, count(*) AS stacks, sum(leaked_blocks) AS blocks, sum(leaked_bytes) AS bytes,
      min(leaked_first_ns) AS first_ns, max(leaked_last_ns) AS last_ns
    FROM _leaked_stacks GROUP BY process_id, call_site_id, rule_id)
SELECT t.process_id, t.call_site_id, t.rule_id, t.stacks, t.blocks, t.bytes, t.first_ns, t.last_ns,
  CASE
    WHEN t.blocks = 1 THEN 'once'
    WHEN j.is_bounded THEN iif(j.fell, 'saw tooth', 'plateau')
    WHEN t.blocks = 2 OR 2 * j.largest >= j.total THEN 'burst'
    WHEN j.last_part < 43 THEN 'plateau'
    WHEN j.first_part >= 32 THEN 'late'
    WHEN j.last_part IS NULL THEN 'burst'
    ELSE 'steady'
  END
FROM totals AS t
LEFT JOIN judged AS j ON j.process_id = t.process_id AND j.call_site_id IS t.call_site_id AND j.rule_id IS t.rule_id;
