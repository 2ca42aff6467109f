-- SPDX-License-Identifier: MIT
-- size_histogram: one row per class of block sizes.
CREATE VIEW size_histogram(
  process_id,        -- joins processes
  from_bytes,        -- smallest requested size of the class
  to_bytes,          -- largest requested size of the class
  blocks,            -- blocks allocated
  bytes,             -- their requested bytes
  leaked_blocks,     -- of these, leaked
  leaked_bytes,      -- their requested bytes
  temporary_blocks,  -- of these, temporary; NULL: not known, because recorded with --sample-bytes
  slack_bytes        -- usable minus requested bytes
) AS
SELECT process_id, from_bytes, to_bytes, allocated_blocks, allocated_bytes, leaked_blocks, leaked_bytes,
  iif((SELECT p.sample_bytes FROM processes AS p WHERE p.process_id = size_classes.process_id) IS NULL, temporary_blocks, NULL), slack_bytes
FROM size_classes
ORDER BY process_id, from_bytes;
