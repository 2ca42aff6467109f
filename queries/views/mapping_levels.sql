-- SPDX-License-Identifier: MIT
-- mapping_levels: one row per time at which mappings of a kind changed: how much address space they took from then on.
--
-- A heap counts up to the end that was seen then; a heap of another allocator than glibc is part of what the program mapped.
-- A library counts from its first to its last byte, also if its parts have a gap or another library between them.
CREATE VIEW mapping_levels(
  process_id,        -- joins processes
  at_ns,             -- time of the change
  what,              -- 'mapping', 'library', 'stack' or 'heap': see mappings
  change_bytes,      -- change of mapped_bytes
  mapped_bytes       -- bytes of this kind from then on
) AS
WITH
  changes AS (
    SELECT process_id, seen_ns AS at_ns, what, length_bytes AS bytes FROM mappings WHERE what <> 'heap' AND seen_ns IS NOT NULL
    UNION ALL
    SELECT process_id, unmapped_ns, what, -length_bytes FROM mappings WHERE what <> 'heap' AND unmapped_ns IS NOT NULL
    UNION ALL
    SELECT h.process_id, e.at_ns, 'heap',
      e.end_address - lag(e.end_address, 1, h.start_address) OVER (PARTITION BY e.heap_id ORDER BY e.at_ns)
    FROM heap_extents AS e JOIN heaps AS h ON h.heap_id = e.heap_id WHERE h.kind <> 'other'),
  sums AS (
    SELECT process_id, at_ns, what, sum(bytes) AS bytes FROM changes GROUP BY process_id, at_ns, what)
SELECT process_id, at_ns, what, bytes, sum(bytes) OVER (PARTITION BY process_id, what ORDER BY at_ns)
FROM sums
ORDER BY process_id, at_ns, what;
