-- SPDX-License-Identifier: MIT
-- peak: one row per call site with live blocks at the instant its process held most memory.
--
-- There is no peak of several processes together: each has its own instant.
CREATE VIEW peak(
  process_id,        -- joins processes
  peak_ns,           -- the instant
  bytes,             -- requested bytes live then
  blocks,            -- blocks live then
  share,             -- bytes as a share of the process's peak_bytes, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  site_totals AS (
    SELECT t.process_id, b.call_site_id, sum(t.peak_bytes) AS bytes, sum(t.peak_blocks) AS blocks
    FROM backtrace_totals AS t JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    WHERE t.peak_blocks > 0
    GROUP BY t.process_id, b.call_site_id)
SELECT t.process_id, p.peak_ns, t.bytes, t.blocks, 1.0 * t.bytes / p.peak_bytes, s.function, s.source, s.line, s.module,
  t.call_site_id
FROM site_totals AS t
JOIN processes AS p ON p.process_id = t.process_id
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
ORDER BY t.bytes DESC, t.blocks DESC, t.process_id, t.call_site_id;
