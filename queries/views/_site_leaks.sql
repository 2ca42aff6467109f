-- SPDX-License-Identifier: MIT
-- _site_leaks: one row per leaking call site and rule that suppresses some of its stacks, of which site_leaks is made.
--
-- The pattern (see the view leaks) is read off the births of the leaked blocks, part by part of the process's life, and
-- off the live bytes of the call site: where these rose by less than half of what was born, new blocks only took the
-- place of old ones. That is asked from the half of the life on, and from where the first tenth of the blocks was born, but not
-- where each eighth of the life has left between half and twice its share: of blocks that are replaced the old ones go, while
-- live bytes that go up and down for other reasons, a queue that fills and drains, hide a leak beside them.
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
WITH
  births AS (
    SELECT process_id, call_site_id, rule_id, part, sum(bytes) AS bytes,
      sum(sum(bytes)) OVER (PARTITION BY process_id, call_site_id, rule_id ORDER BY part) AS so_far,
      sum(sum(bytes)) OVER (PARTITION BY process_id, call_site_id, rule_id) AS total
    FROM _leak_births GROUP BY process_id, call_site_id, rule_id, part),
  shapes AS MATERIALIZED (
    SELECT b.process_id, b.call_site_id, b.rule_id, max(b.total) AS total, max(b.bytes) AS largest,
      min(b.part) FILTER (WHERE 10 * b.so_far >= b.total) AS first_part,
      min(b.part) FILTER (WHERE 10 * b.so_far >= 9 * b.total) AS last_part,
      coalesce(sum(b.bytes) FILTER (WHERE b.part >= 32), 0) AS late,
      p.start_ns + (p.end_ns - p.start_ns) / 2 AS half_ns, p.end_ns,
      p.start_ns + (p.end_ns - p.start_ns) / 64 * min(b.part) FILTER (WHERE 10 * b.so_far >= b.total) AS first_ns
    FROM births AS b JOIN _judged AS p ON p.process_id = b.process_id
    GROUP BY b.process_id, b.call_site_id, b.rule_id),
  eighths AS (
    SELECT process_id, call_site_id, rule_id, sum(bytes) AS bytes, max(total) AS total
    FROM births GROUP BY process_id, call_site_id, rule_id, part / 8),
  spreads AS MATERIALIZED (
    SELECT process_id, call_site_id, rule_id,
      count(*) = 8 AND 16 * min(bytes) >= max(total) AND 4 * max(bytes) <= max(total) AS is_even
    FROM eighths GROUP BY process_id, call_site_id, rule_id),
  levels AS (
    SELECT *, max(live_bytes) OVER (PARTITION BY process_id, call_site_id ORDER BY at_ns, snapshot_id) AS highest
    FROM _site_levels),
  rises AS (
    SELECT s.process_id, s.call_site_id, s.rule_id,
      max(y.live_bytes) FILTER (WHERE y.at_ns > s.half_ns)
        - coalesce(max(y.live_bytes) FILTER (WHERE y.at_ns <= s.half_ns), 0) AS since_half,
      max(y.live_bytes) FILTER (WHERE y.at_ns > s.first_ns)
        - max(y.live_bytes) FILTER (WHERE y.at_ns <= s.first_ns) AS since_first,
      max(y.live_bytes) FILTER (WHERE y.at_ns <= s.first_ns) AS before_first,
      max(y.reason = 'regular' AND 2 * y.live_bytes < y.highest) AS fell
    FROM shapes AS s
    JOIN levels AS y ON y.process_id = s.process_id AND y.call_site_id IS s.call_site_id AND y.at_ns <= s.end_ns
    GROUP BY s.process_id, s.call_site_id, s.rule_id),
  judged AS (
    SELECT s.*, r.fell,
      (SELECT count(*) >= 8 FROM snapshots AS n WHERE n.process_id = s.process_id)
      AND r.fell IS NOT NULL AND NOT e.is_even AND (5 * s.late >= s.total AND 2 * coalesce(r.since_half, 0) < s.late
        OR r.before_first > 0 AND 2 * coalesce(r.since_first, 0) < s.total) AS is_bounded
    FROM shapes AS s
    JOIN spreads AS e ON e.process_id = s.process_id AND e.call_site_id IS s.call_site_id AND e.rule_id IS s.rule_id
    LEFT JOIN rises AS r ON r.process_id = s.process_id AND r.call_site_id IS s.call_site_id AND r.rule_id IS s.rule_id),
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
