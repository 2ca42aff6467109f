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
SELECT i.process_id, h.retained_bytes, h.head_bytes, h.head_blocks, s.function, s.source, s.line, s.module, nullif(h.call_site_id, 0), i.image_id
FROM heap_images AS i
JOIN heap_image_sites AS h ON h.image_id = i.image_id AND h.head_blocks > 0
LEFT JOIN _sites AS s ON s.call_site_id = h.call_site_id
WHERE i.image_id IN (SELECT max(image_id) FROM heap_images GROUP BY process_id)
ORDER BY h.retained_bytes DESC, h.head_blocks DESC, i.process_id, h.call_site_id;
