-- SPDX-License-Identifier: MIT
-- by_module: one row per file of code: what it allocates itself, and together with everything it calls.
--
-- self: the call site is in this module. inclusive: the module is anywhere on the stack, counted once.
CREATE VIEW by_module(
  process_id,              -- joins processes
  self_allocated_blocks,   -- blocks allocated itself
  self_allocated_bytes,    -- requested bytes allocated itself
  self_leaked_bytes,       -- bytes allocated itself and leaked
  self_peak_bytes,         -- bytes allocated itself that are live at the peak of the process
  self_temporary_blocks,   -- temporary blocks allocated itself
  inclusive_allocated_blocks, -- blocks allocated in and below it
  inclusive_allocated_bytes, -- requested bytes allocated in and below it
  inclusive_leaked_bytes,  -- bytes allocated in and below it and leaked
  inclusive_peak_bytes,    -- bytes allocated in and below it that are live at the peak of the process
  inclusive_temporary_blocks, -- temporary blocks allocated in and below it
  module,                  -- path of the file
  object_id,               -- joins objects
  self_allocated_blocks_margin, -- half of the width of the 95 % interval of self_allocated_blocks; NULL: it is exact
  self_allocated_bytes_margin, -- the same of self_allocated_bytes
  self_leaked_bytes_margin, -- the same of self_leaked_bytes
  self_peak_bytes_margin, -- the same of self_peak_bytes
  inclusive_allocated_blocks_margin, -- the same of inclusive_allocated_blocks
  inclusive_allocated_bytes_margin, -- the same of inclusive_allocated_bytes
  inclusive_leaked_bytes_margin, -- the same of inclusive_leaked_bytes
  inclusive_peak_bytes_margin -- the same of inclusive_peak_bytes
) AS
SELECT t.process_id, t.self_allocated_blocks, t.self_allocated_bytes, t.self_leaked_bytes, t.self_peak_bytes,
  t.self_temporary_blocks, t.total_allocated_blocks, t.total_allocated_bytes, t.total_leaked_bytes, t.total_peak_bytes,
  t.total_temporary_blocks, o.path, t.object_id,
  t.self_allocated_blocks_margin, t.self_allocated_bytes_margin, t.self_leaked_bytes_margin, t.self_peak_bytes_margin,
  t.total_allocated_blocks_margin, t.total_allocated_bytes_margin, t.total_leaked_bytes_margin, t.total_peak_bytes_margin
FROM module_totals AS t
JOIN objects AS o ON o.object_id = t.object_id
ORDER BY t.self_allocated_bytes DESC, t.total_allocated_bytes DESC, t.process_id, t.object_id;
