-- SPDX-License-Identifier: MIT
-- leaks_by_stack: one row per stack whose blocks were never freed by the end of their process.
--
-- pattern and weight are those of the view leaks, but derived from allocations only, because live bytes over time are known by
-- call site. If the live bytes of its call site stopped growing, a stack shares the 'plateau' or 'saw tooth' of the call site.
-- If the process was killed or is still running, leaked means live at that time (processes.end_kind).
-- The largest weight comes first; suppressed rows come last.
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
  leaked_first_ns,   -- when the first leaked block was allocated
  leaked_last_ns,    -- when the last leaked block was allocated
  pattern,           -- 'steady', 'late', 'burst', 'plateau', 'saw tooth' or 'once'; NULL: less than half of the time was recorded
  usually_freed_in,  -- call site that frees most of the other blocks; NULL: none were freed, or not recorded, or more were freed on stacks that a log of --aggregate does not distinguish
  suppressed_by,     -- rule that removes this row from reports; NULL: none
  weight,            -- sort key of the rows
  leaked_bytes_margin, -- half of the width of the 95 % interval of leaked_bytes; NULL: it is exact
  leaked_blocks_margin -- the same of leaked_blocks
) AS
WITH
  -- Stacks with two blocks or fewer need no curve. Rows are read in key order, which the window needs, so there is no sort.
  parts AS (
    SELECT d.process_id, d.backtrace_id, d.part, max(d.bytes, d.blocks) AS bytes, max(t.leaked_bytes, t.leaked_blocks) AS total,
      sum(max(d.bytes, d.blocks)) OVER (PARTITION BY d.process_id, d.backtrace_id ORDER BY d.part ROWS UNBOUNDED PRECEDING) AS so_far
    FROM leaked_allocations AS d
    CROSS JOIN backtrace_totals AS t ON t.process_id = d.process_id AND t.backtrace_id = d.backtrace_id
    WHERE t.leaked_blocks > 2),
  shapes AS MATERIALIZED (
    SELECT process_id, backtrace_id, max(2 * bytes >= total) AS is_burst,
      min(part) FILTER (WHERE 10 * so_far >= total) AS first_part,
      min(part) FILTER (WHERE 10 * so_far >= 9 * total) AS last_part
    FROM parts
    WHERE 2 * bytes >= total OR (10 * so_far >= total AND 10 * (so_far - bytes) < total)
      OR (10 * so_far >= 9 * total AND 10 * (so_far - bytes) < 9 * total)
    GROUP BY process_id, backtrace_id),
  patterns AS (
    SELECT l.*, CASE
        WHEN l.leaked_blocks = 1 THEN 'once'
        WHEN g.process_id IS NOT NULL AND g.pattern IS NULL THEN NULL
        WHEN g.pattern IN ('plateau', 'saw tooth') THEN g.pattern
        WHEN l.leaked_blocks = 2 OR s.is_burst IS NOT 0 THEN 'burst'
        WHEN s.last_part < 43 THEN 'plateau'
        WHEN s.first_part >= 32 THEN 'late'
        ELSE 'steady'
      END AS pattern
    FROM _leaked_stacks AS l
    LEFT JOIN shapes AS s ON s.process_id = l.process_id AND s.backtrace_id = l.backtrace_id
    LEFT JOIN site_leaks AS g ON g.process_id = l.process_id AND g.call_site_id = l.call_site_id AND g.rule_id IS l.rule_id)
SELECT l.process_id, l.backtrace_id, l.leaked_bytes, l.leaked_blocks, 1.0 * l.leaked_blocks / l.allocated_blocks,
  s.function, s.source, s.line, s.module, l.call_site_id, l.leaked_first_ns, l.leaked_last_ns, l.pattern,
  -- looked up only for rows that are shown
  (SELECT e.label FROM _sites AS e WHERE e.call_site_id = (
    SELECT CASE WHEN f.free_backtrace_id = 0 THEN 0 ELSE d.call_site_id END AS free_site -- as in _site_frees
    FROM free_sites AS f
    LEFT JOIN backtraces AS d ON d.backtrace_id = f.free_backtrace_id
    WHERE f.process_id = l.process_id AND f.backtrace_id = l.backtrace_id AND (d.call_site_id IS NOT NULL OR f.free_backtrace_id = 0)
    GROUP BY free_site
    ORDER BY sum(f.blocks) DESC, free_site = 0, free_site
    LIMIT 1)),
  r.rule AS suppressed_by,
  l.leaked_bytes * CASE WHEN l.pattern IN ('steady', 'late') THEN 64 ELSE 1 END AS weight,
  l.leaked_bytes_margin, l.leaked_blocks_margin
FROM patterns AS l
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
LEFT JOIN suppressions AS r ON r.rule_id = l.rule_id
ORDER BY suppressed_by IS NOT NULL, weight DESC, l.leaked_bytes DESC, l.leaked_blocks DESC, l.process_id,
  l.backtrace_id;
