-- SPDX-License-Identifier: MIT
-- lifetime_histogram: one row per class of lifetimes, and one for the blocks that were never freed.
--
CREATE VIEW lifetime_histogram(
  process_id,        -- joins processes
  from_ns,           -- shortest lifetime of the class; NULL: never freed
  to_ns,             -- end of the class, exclusive; NULL: never freed
  blocks,            -- blocks with such a lifetime
  bytes,             -- their requested bytes
  leaked             -- 1: the row of the leaked blocks, 0: a class
) AS
WITH
  leaked AS (
    SELECT process_id, sum(leaked_blocks) AS blocks, sum(leaked_bytes) AS bytes
    FROM size_classes GROUP BY process_id)
SELECT process_id, from_ns, to_ns, blocks, bytes, 0 AS leaked FROM lifetime_classes
UNION ALL
SELECT process_id, NULL, NULL, blocks, bytes, 1 FROM leaked WHERE blocks > 0
ORDER BY process_id, leaked, from_ns;
