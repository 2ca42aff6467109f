-- SPDX-License-Identifier: MIT
-- unclaimed: one row per stack whose live blocks no object owned in a process's last walk (mtrace_objects.h): leaks, or memory unknown to visitors.
--
-- Earlier walks are in unclaimed_totals.
CREATE VIEW unclaimed(
  process_id,        -- joins processes
  bytes,             -- requested bytes of live blocks that no object claimed
  blocks,            -- number of these blocks
  share_of_live,     -- share of all live bytes at that time, 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  walk_id,           -- joins object_walks
  backtrace_id       -- joins backtraces; `mtrace-query stack ID` prints it
) AS
SELECT w.process_id, u.bytes, u.blocks, 1.0 * u.bytes / nullif(w.live_bytes, 0), s.function, s.source, s.line, s.module, b.call_site_id,
       u.walk_id, u.backtrace_id
FROM object_walks AS w
JOIN unclaimed_totals AS u ON u.walk_id = w.walk_id
JOIN backtraces AS b ON b.backtrace_id = u.backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
WHERE w.walk_id IN (SELECT max(walk_id) FROM object_walks GROUP BY process_id)
ORDER BY u.bytes DESC, u.blocks DESC, u.walk_id, u.backtrace_id;
