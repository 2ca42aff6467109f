-- SPDX-License-Identifier: MIT
-- leaks: one row per call site whose blocks were never freed by the end of their process.
--
-- pattern: 'once' is a single block; 'steady' are three or more whose births span at least a quarter of the process's
-- life, so that it will go on, unless snapshots show that half of the bytes that the call site keeps came between two
-- of them; 'burst' is everything else. When the process was killed or is still running, leaked
-- means live at that instant (processes.end_kind). Most bytes come first; suppressed rows come last.
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
SELECT l.process_id, l.leaked_bytes, l.leaked_blocks, 1.0 * l.leaked_blocks / a.allocated_blocks,
  s.function, s.source, s.line, s.module, l.call_site_id, l.stacks, l.leaked_first_ns, l.leaked_last_ns,
  CASE
    WHEN l.leaked_blocks = 1 THEN 'once'
    WHEN l.leaked_blocks >= 3 AND 4 * (l.leaked_last_ns - l.leaked_first_ns) >= p.duration_ns
      AND (g.snapshots >= 4 AND 2 * g.largest_rise_bytes >= g.to_bytes) IS NOT TRUE THEN 'steady'
    ELSE 'burst'
  END AS leak_pattern,
  e.label, r.rule AS suppressed_by
FROM site_leaks AS l
JOIN processes AS p ON p.process_id = l.process_id
JOIN site_totals AS a ON a.process_id = l.process_id AND a.call_site_id IS l.call_site_id
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
LEFT JOIN site_growth AS g ON g.process_id = l.process_id AND g.call_site_id = l.call_site_id
LEFT JOIN site_frees AS f ON f.process_id = l.process_id AND f.call_site_id = l.call_site_id
LEFT JOIN _sites AS e ON e.call_site_id = f.free_call_site_id
LEFT JOIN suppressions AS r ON r.rule_id = l.rule_id
ORDER BY suppressed_by IS NOT NULL, l.leaked_bytes DESC, l.leaked_blocks DESC, l.process_id,
  l.call_site_id, l.rule_id;
