-- SPDX-License-Identifier: MIT
-- hot: one row per call site, busiest first: where the program spends its calls to the allocator.
CREATE VIEW hot(
  process_id,        -- joins processes
  allocated_blocks,  -- blocks allocated here
  allocated_bytes,   -- their requested bytes
  turnover,          -- allocated_bytes divided by the own peak: how often the memory was used again; NULL: only blocks of 0 bytes
  mean_lifetime_ns,  -- mean lifetime of freed blocks; NULL: none was freed
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  allocated_blocks_margin, -- half of the width of the 95 % interval of allocated_blocks; NULL: it is exact
  allocated_bytes_margin -- the same of allocated_bytes
) AS
-- The stacks of a call site need not peak at the same time: the sum of their peaks is at least the own peak of the call site.
SELECT t.process_id, t.allocated_blocks, t.allocated_bytes, 1.0 * t.allocated_bytes / nullif(t.own_peak_bytes, 0),
  CAST(t.lifetime_sum_ns / nullif(t.freed_blocks, 0) AS INTEGER), s.function, s.source, s.line, s.module, t.call_site_id,
  t.allocated_blocks_margin, t.allocated_bytes_margin
FROM site_totals AS t
LEFT JOIN _sites AS s ON s.call_site_id = t.call_site_id
ORDER BY t.allocated_blocks DESC, t.allocated_bytes DESC, t.process_id, t.call_site_id;
