-- SPDX-License-Identifier: MIT
-- leaks_by_stack: one row per stack whose blocks were never freed by the end of their process.
--
-- pattern: 'once' is a single block; 'steady' are three or more whose births span at least a quarter of the process's
-- life, so that it will go on, unless snapshots show that half of the bytes that the call site keeps came between two
-- of them; 'burst' is everything else. When the process was killed or is still running, leaked
-- means live at that instant (processes.end_kind). Steady leaks come first, then bytes; suppressed rows come last.
CREATE VIEW leaks_by_stack(
  process_id,        -- joins processes
  backtrace_id,      -- joins backtraces; `mtrace-query stack ID` prints it
  leaked_bytes,      -- requested bytes never freed
  leaked_blocks,     -- blocks never freed
  share_of_site,     -- leaked_blocks as a share of all blocks the stack allocated, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  leaked_first_ns,   -- birth of the first leaked block
  leaked_last_ns,    -- birth of the last leaked block
  pattern,           -- 'steady', 'burst' or 'once'
  usually_freed_in,  -- where most of the stack's other blocks are freed; NULL: none were, or not recorded
  suppressed_by      -- the rule that leaves this row out of reports; NULL: none
) AS
SELECT l.process_id, l.backtrace_id, l.leaked_bytes, l.leaked_blocks, 1.0 * l.leaked_blocks / l.allocated_blocks,
  s.function, s.source, s.line, s.module, l.call_site_id, l.leaked_first_ns, l.leaked_last_ns,
  CASE
    WHEN l.leaked_blocks = 1 THEN 'once'
    WHEN l.leaked_blocks >= 3 AND 4 * (l.leaked_last_ns - l.leaked_first_ns) >= p.duration_ns
      AND (g.snapshots >= 4 AND 2 * g.largest_rise_bytes >= g.to_bytes) IS NOT TRUE THEN 'steady'
    ELSE 'burst'
  END AS leak_pattern,
  e.label, r.rule AS suppressed_by
FROM _leaked_stacks AS l
JOIN processes AS p ON p.process_id = l.process_id
LEFT JOIN site_growth AS g ON g.process_id = l.process_id AND g.call_site_id = l.call_site_id
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
LEFT JOIN _sites AS e ON e.call_site_id = (
  SELECT d.call_site_id
  FROM free_sites AS f
  CROSS JOIN backtraces AS d ON d.backtrace_id = f.free_backtrace_id
  WHERE f.process_id = l.process_id AND f.backtrace_id = l.backtrace_id AND d.call_site_id IS NOT NULL
  GROUP BY d.call_site_id
  ORDER BY sum(f.blocks) DESC, d.call_site_id
  LIMIT 1)
LEFT JOIN suppressions AS r ON r.rule_id = l.rule_id
ORDER BY suppressed_by IS NOT NULL, l.leaked_bytes DESC, l.leaked_blocks DESC, l.process_id,
  l.backtrace_id;
