-- SPDX-License-Identifier: MIT
-- reallocs: one row per call site whose buffers grow or shrink by realloc.
--
-- A chain belongs to the stack of its first block.
CREATE VIEW reallocs(
  process_id,        -- joins processes
  chains,            -- buffers that were reallocated
  reallocs,          -- number of reallocs of these buffers
  copied_bytes,      -- bytes that the allocator had to copy because the block moved; 0 of a large block whose pages glibc moved by mremap
  longest_chain,     -- number of blocks in the longest chain
  first_size_bytes,  -- requested bytes of the first blocks, mean
  last_size_bytes,   -- requested bytes of the last blocks, mean
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
WITH
  site_chains AS (
    SELECT c.process_id, b.call_site_id, sum(c.chains) AS chains, sum(c.reallocs) AS reallocs,
      sum(c.copied_bytes) AS copied_bytes, max(c.longest) AS longest_chain,
      sum(c.first_bytes) / sum(c.chains) AS first_size_bytes, sum(c.last_bytes) / sum(c.chains) AS last_size_bytes
    FROM chain_totals AS c JOIN backtraces AS b ON b.backtrace_id = c.first_backtrace_id
    GROUP BY c.process_id, b.call_site_id)
SELECT c.process_id, c.chains, c.reallocs, c.copied_bytes, c.longest_chain, c.first_size_bytes, c.last_size_bytes,
  s.function, s.source, s.line, s.module, c.call_site_id
FROM site_chains AS c
LEFT JOIN _sites AS s ON s.call_site_id = c.call_site_id
ORDER BY c.copied_bytes DESC, c.reallocs DESC, c.process_id, c.call_site_id;
