-- SPDX-License-Identifier: MIT
-- lost: one row per call site whose blocks were lost at the time of the last heap image of their process.
--
-- A block is lost if no pointer outside of lost blocks leads to it. Blocks that only lost blocks point to are folded into these:
-- retained_bytes of a list is that of its head. Of a lost cycle, one block counts as the head.
CREATE VIEW lost(
  process_id,        -- joins processes
  retained_bytes,    -- requested bytes of the lost blocks, and of the blocks that only they lead to
  bytes,             -- requested bytes of the lost blocks alone
  blocks,            -- number of lost blocks
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  image_id           -- joins heap_images
) AS
SELECT i.process_id, sum(h.retained_bytes), sum(a.size_bytes), count(*), s.function, s.source, s.line, s.module, b.call_site_id, i.image_id
FROM heap_images AS i
CROSS JOIN heap_image_blocks AS h ON h.image_id = i.image_id AND h.state_code = 0
CROSS JOIN allocation_rows AS a ON a.allocation_id = h.allocation_id
LEFT JOIN backtraces AS b ON b.backtrace_id = a.backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
WHERE i.image_id IN (SELECT max(image_id) FROM heap_images GROUP BY process_id)
GROUP BY i.image_id, b.call_site_id
ORDER BY sum(h.retained_bytes) DESC, count(*) DESC, b.call_site_id;
