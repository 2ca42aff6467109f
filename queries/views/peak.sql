-- SPDX-License-Identifier: MIT
-- peak: one row per call site with live blocks at the time when its process held most memory.
--
-- There is no common peak of several processes: each has its own time.
CREATE VIEW peak(
  process_id,        -- joins processes
  peak_ns,           -- time of the peak
  bytes,             -- requested bytes of blocks that were live then
  blocks,            -- blocks that were live then
  share,             -- share of the peak_bytes of the process, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  bytes_margin,      -- half of the width of the 95 % interval of bytes; NULL: it is exact
  blocks_margin      -- the same of blocks
) AS
SELECT t.process_id, p.peak_ns, t.peak_bytes, t.peak_blocks, 1.0 * t.peak_bytes / p.peak_bytes, s.function, s.source, s.line, s.module,
  t.call_site_id, t.peak_bytes_margin, t.peak_blocks_margin
FROM site_totals AS t
JOIN processes AS p ON p.process_id = t.process_id
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
WHERE t.peak_blocks > 0
ORDER BY t.peak_bytes DESC, t.peak_blocks DESC, t.process_id, t.call_site_id;
