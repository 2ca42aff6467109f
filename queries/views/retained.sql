-- SPDX-License-Identifier: MIT
-- retained: one row per block of the last heap image of each process that no other block dominates: the largest structures.
--
-- A structure that several roots or blocks share is not retained by any of them; its first shared block has a row of its own.
CREATE VIEW retained(
  process_id,        -- joins processes
  retained_bytes,    -- requested bytes that would be lost with the block: its own and those of all blocks that it alone leads to
  size_bytes,        -- requested bytes of the block
  address,           -- of the block
  kind,              -- of the root of the shortest path: 'global', 'tls', 'mapping', 'stack', 'register', 'heap'
  symbol,            -- variable of that root; NULL: not known
  function,          -- of the call site of the block
  source,            -- path; NULL: not known
  line,              -- NULL: not known
  module,            -- path of the file of code
  call_site_id,      -- joins call_sites
  allocation_id,     -- joins allocations
  image_id           -- joins heap_images
) AS
SELECT i.process_id, h.retained_bytes, a.size_bytes, a.address, r.kind, r.symbol, s.function, s.source, s.line, s.module, b.call_site_id, h.allocation_id, h.image_id
FROM heap_images AS i
JOIN heap_image_blocks AS h ON h.image_id = i.image_id
JOIN allocation_rows AS a ON a.allocation_id = h.allocation_id
JOIN roots AS r ON r.root_id = h.root_id
LEFT JOIN backtraces AS b ON b.backtrace_id = a.backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
WHERE i.image_id IN (SELECT max(image_id) FROM heap_images GROUP BY process_id) AND h.state_code = 2 AND h.dominator_allocation_id IS NULL
ORDER BY h.retained_bytes DESC, a.size_bytes DESC, h.allocation_id;
