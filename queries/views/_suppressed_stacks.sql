-- SPDX-License-Identifier: MIT
-- _suppressed_stacks: one row per leaking stack that matches a suppression rule. It fills suppressed_stacks.
CREATE VIEW _suppressed_stacks(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces
  rule_id            -- first rule of suppressions that matches
) AS
WITH
  matched_functions(function_id, rule_id) AS MATERIALIZED (
    -- The C library calls its own functions by names with a prefix.
    SELECT f.function_id, min(r.rule_id)
    FROM functions AS f
    CROSS JOIN suppressions AS r ON f.name GLOB r.pattern OR (f.name GLOB '__GI_*' AND substr(f.name, 6) GLOB r.pattern)
    GROUP BY 1),
  matched_sources(source_id, rule_id) AS MATERIALIZED (
    SELECT s.source_id, min(r.rule_id)
    FROM sources AS s CROSS JOIN suppressions AS r ON s.path GLOB r.pattern GROUP BY 1),
  matched_objects(object_id, rule_id) AS MATERIALIZED (
    SELECT o.object_id, min(r.rule_id)
    FROM objects AS o CROSS JOIN suppressions AS r ON o.path GLOB r.pattern GROUP BY 1),
  matched_frames(frame_id, rule_id) AS MATERIALIZED (
    SELECT frame_id, min(rule_id)
    FROM (
      SELECT l.frame_id, m.rule_id FROM frame_lines AS l JOIN matched_functions AS m ON m.function_id = l.function_id
      UNION ALL
      SELECT l.frame_id, m.rule_id FROM frame_lines AS l JOIN matched_sources AS m ON m.source_id = l.source_id
      UNION ALL
      SELECT f.frame_id, m.rule_id FROM frames AS f JOIN matched_objects AS m ON m.object_id = f.object_id)
    GROUP BY 1),
  subtrees(first_id, last_id, rule_id) AS MATERIALIZED (
    SELECT b.backtrace_id, b.last_descendant_id, m.rule_id
    FROM backtraces AS b JOIN matched_frames AS m ON m.frame_id = b.frame_id),
  origins(object_id, caller_object_id, rule_id) AS MATERIALIZED (
    SELECT o.object_id, c.object_id, r.rule_id
    FROM _builtin_origins AS g
    JOIN suppressions AS r ON r.rule = g.rule
    JOIN objects AS o ON o.path GLOB g.object_pattern
    LEFT JOIN objects AS c ON c.path GLOB g.caller_pattern
    WHERE g.caller_pattern IS NULL OR c.object_id IS NOT NULL)
SELECT process_id, backtrace_id, min(rule_id)
FROM (
  SELECT t.process_id, t.backtrace_id, s.rule_id
  FROM subtrees AS s
  CROSS JOIN processes AS p
  CROSS JOIN backtrace_totals AS t
    ON t.process_id = p.process_id AND t.backtrace_id BETWEEN s.first_id AND s.last_id
  WHERE t.leaked_blocks > 0
  UNION ALL
  SELECT t.process_id, t.backtrace_id, g.rule_id
  FROM backtrace_totals AS t
  CROSS JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
  CROSS JOIN frames AS f ON f.frame_id = b.frame_id
  CROSS JOIN origins AS g ON g.object_id = f.object_id
  LEFT JOIN backtraces AS d ON d.backtrace_id = b.parent_backtrace_id
  LEFT JOIN frames AS e ON e.frame_id = d.frame_id
  WHERE t.leaked_blocks > 0 AND (g.caller_object_id IS NULL OR g.caller_object_id = e.object_id))
GROUP BY process_id, backtrace_id;
