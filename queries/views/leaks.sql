-- SPDX-License-Identifier: MIT
-- leaks: one row per call site whose blocks were never freed by the end of their process.
--
-- pattern: 'once' is a single block; 'steady' are three or more whose births span at least a quarter of the process's
-- life, so that it will go on; 'burst' is everything else. When the process was killed or is still running, leaked
-- means live at that instant (processes.end_kind). Steady leaks come first, then bytes; suppressed rows come last.
-- A call site some of whose stacks are suppressed has a row for each rule and one for the rest.
CREATE VIEW leaks(
  process_id,        -- joins processes
  leaked_bytes,      -- requested bytes never freed
  leaked_blocks,     -- blocks never freed
  share_of_site,     -- leaked_blocks as a share of all blocks the call site allocated, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  stacks,            -- distinct stacks that leak here
  leaked_first_ns,   -- birth of the first leaked block
  leaked_last_ns,    -- birth of the last leaked block
  pattern,           -- 'steady', 'burst' or 'once'
  usually_freed_in,  -- where most of the call site's other blocks are freed; NULL: none were, or not recorded
  suppressed_by      -- the rule that leaves this row out of reports; NULL: none
) AS
WITH
  site_totals(process_id, call_site_id, allocated_blocks) AS MATERIALIZED (
    SELECT t.process_id, b.call_site_id, sum(t.allocated_blocks)
    FROM backtrace_totals AS t JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    GROUP BY 1, 2),
  leaked AS MATERIALIZED (
    SELECT process_id, call_site_id, rule_id, sum(leaked_blocks) AS leaked_blocks, sum(leaked_bytes) AS leaked_bytes,
      min(leaked_first_ns) AS leaked_first_ns, max(leaked_last_ns) AS leaked_last_ns, count(*) AS stacks
    FROM _leaked_stacks
    GROUP BY process_id, call_site_id, rule_id)
SELECT l.process_id, l.leaked_bytes, l.leaked_blocks, 1.0 * l.leaked_blocks / a.allocated_blocks,
  s.function, s.source, s.line, s.module, l.call_site_id, l.stacks, l.leaked_first_ns, l.leaked_last_ns,
  CASE
    WHEN l.leaked_blocks = 1 THEN 'once'
    WHEN l.leaked_blocks >= 3 AND 4 * (l.leaked_last_ns - l.leaked_first_ns) >= p.duration_ns THEN 'steady'
    ELSE 'burst'
  END AS leak_pattern,
  e.label, r.rule AS suppressed_by
FROM leaked AS l
JOIN processes AS p ON p.process_id = l.process_id
JOIN site_totals AS a ON a.process_id = l.process_id AND a.call_site_id IS l.call_site_id
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
LEFT JOIN _freed_in AS f ON f.process_id = l.process_id AND f.call_site_id = l.call_site_id
LEFT JOIN _sites AS e ON e.call_site_id = f.free_call_site_id
LEFT JOIN suppressions AS r ON r.rule_id = l.rule_id
ORDER BY suppressed_by IS NOT NULL, leak_pattern <> 'steady', l.leaked_bytes DESC, l.leaked_blocks DESC, l.process_id,
  l.call_site_id, l.rule_id;
