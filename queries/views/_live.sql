-- SPDX-License-Identifier: MIT
-- _live: one row per call site with all its blocks: what `live --at` shows when the totals are those of live blocks.
CREATE VIEW _live(
  process_id,        -- joins processes
  bytes,             -- requested bytes
  blocks,            -- blocks
  share,             -- share of the bytes of the process, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  bytes_margin,      -- half of the width of the 95 % interval of bytes; NULL: it is exact
  blocks_margin      -- the same of blocks
) AS
SELECT t.process_id, t.allocated_bytes, t.allocated_blocks, 1.0 * t.allocated_bytes / nullif(sum(t.allocated_bytes) OVER (PARTITION BY t.process_id), 0),
  s.function, s.source, s.line, s.module, t.call_site_id, t.allocated_bytes_margin, t.allocated_blocks_margin
FROM site_totals AS t
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
ORDER BY t.allocated_bytes DESC, t.allocated_blocks DESC, t.process_id, t.call_site_id;
