-- SPDX-License-Identifier: MIT
-- leaks: one row per call site whose blocks were never freed by the end of their process.
--
-- pattern says how these blocks came, by the rule of the view _site_shapes:
--   'once': a single block.
--   'burst': half of the bytes or more came in one of 64 parts of the analysis range; or there are two blocks.
--   'plateau': nine tenths came in the first two thirds; or the call site stopped growing: new blocks replaced old ones.
--   'saw tooth': as plateau, and live bytes once fell to less than a half.
--   'late': nine tenths came in the second half; the leak continues.
--   'steady': everything else; the leak continues.
-- If the process was killed or is still running, leaked means live at that time (processes.end_kind).
-- Rows are sorted by weight: leaked_bytes times 64 if the leak continues. Suppressed rows come last.
-- A call site with some suppressed stacks has a row for each rule, and one for the other stacks.
CREATE VIEW leaks(
  process_id,        -- joins processes
  leaked_bytes,      -- requested bytes never freed
  leaked_blocks,     -- blocks never freed
  share_of_site,     -- leaked_blocks as a share of all blocks of the stacks that leak, 0 to 1; other stacks of the call site do not count
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  stacks,            -- distinct stacks that leak here
  leaked_first_ns,   -- when the first leaked block was allocated
  leaked_last_ns,    -- when the last leaked block was allocated
  pattern,           -- 'steady', 'late', 'burst', 'plateau', 'saw tooth' or 'once'; NULL: less than half of the time was recorded
  usually_freed_in,  -- call site that frees most of the other blocks of these stacks; NULL: none were freed, or not recorded, or more were freed on stacks that a log of --aggregate does not distinguish
  suppressed_by,     -- rule that removes this row from reports; NULL: none
  weight,            -- sort key of the rows
  leaked_bytes_margin, -- half of the width of the 95 % interval of leaked_bytes; NULL: it is exact
  leaked_blocks_margin, -- the same of leaked_blocks
  verdict            -- of the last heap image: 'lost' if the program could reach less than half of the bytes of this call site that were live then, else 'held by ' and what holds most; NULL: there is none
) AS
SELECT l.process_id, l.leaked_bytes, l.leaked_blocks, 1.0 * l.leaked_blocks / l.allocated_blocks,
  s.function, s.source, s.line, s.module, l.call_site_id, l.stacks, l.leaked_first_ns, l.leaked_last_ns,
  l.pattern,
  e.label, r.rule AS suppressed_by,
  l.leaked_bytes * CASE WHEN l.pattern IN ('steady', 'late') THEN 64 ELSE 1 END AS weight,
  l.leaked_bytes_margin, l.leaked_blocks_margin,
  CASE WHEN v.lost_bytes > v.held_bytes THEN 'lost' ELSE 'held by ' || coalesce(o.symbol, 'a ' || o.kind) END
FROM site_leaks AS l
JOIN processes AS p ON p.process_id = l.process_id
LEFT JOIN _sites AS s ON s.call_site_id = l.call_site_id
LEFT JOIN site_frees AS f ON f.process_id = l.process_id AND f.call_site_id = l.call_site_id AND f.is_leaking
LEFT JOIN _sites AS e ON e.call_site_id = f.free_call_site_id
LEFT JOIN suppressions AS r ON r.rule_id = l.rule_id
LEFT JOIN heap_image_sites AS v ON v.image_id = (SELECT max(image_id) FROM heap_images AS i WHERE i.process_id = l.process_id)
  AND v.call_site_id = l.call_site_id
LEFT JOIN roots AS o ON o.root_id = v.root_id
ORDER BY suppressed_by IS NOT NULL, weight DESC, l.leaked_bytes DESC, l.leaked_blocks DESC, l.process_id,
  l.call_site_id, l.rule_id;
