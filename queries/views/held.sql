-- SPDX-License-Identifier: MIT
-- held: one row per root of the last heap image of each process: a variable, a word of a stack, or a register that holds blocks.
--
-- A block counts for one root: a global variable if one leads to it, else a thread-local one, a mapping, a stack, a register, or
-- the heap. A word on a stack may be left over from an earlier call. Among roots of one kind it is that of the shortest path.
CREATE VIEW held(
  process_id,        -- joins processes
  bytes,             -- requested bytes of the blocks that the root holds
  blocks,            -- number of these blocks
  kind,              -- 'global', 'tls', 'mapping', 'stack', 'register'
  symbol,            -- variable, or function whose frame has the word of the stack; NULL: not known
  offset_bytes,      -- of the word, from the start of the symbol; else as in roots
  module,            -- path of the file; NULL: not a global
  thread_id,         -- thread of a stack, register or tls; NULL: none
  root_id,           -- joins roots
  image_id           -- joins heap_images
) AS
SELECT i.process_id, r.bytes, r.blocks, r.kind, ifnull(r.symbol, r.function), r.offset_bytes, r.module, r.thread_id, r.root_id, i.image_id
FROM heap_images AS i
JOIN roots AS r ON r.image_id = i.image_id
WHERE i.image_id IN (SELECT max(image_id) FROM heap_images GROUP BY process_id)
ORDER BY r.bytes DESC, r.blocks DESC, r.root_id;
