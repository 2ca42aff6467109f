-- SPDX-License-Identifier: MIT
-- _module_totals: one row per file of code that is on a stack: its sums, which fill module_totals.
CREATE VIEW _module_totals(
  process_id,        -- joins processes
  object_id,         -- joins objects
  self_allocated_blocks, -- this and all below: as in function_totals
  self_allocated_bytes, -- requested bytes
  self_leaked_bytes, -- never freed
  self_peak_bytes,   -- live at the peak of the process
  self_temporary_blocks, -- freed right after their allocation
  total_allocated_blocks, -- as above, for all stacks that contain the file
  total_allocated_bytes, -- requested bytes
  total_leaked_bytes, -- never freed
  total_peak_bytes,  -- live at the peak of the process
  total_temporary_blocks, -- freed right after their allocation
  self_allocated_blocks_margin, -- this and all below: as in function_totals
  self_allocated_bytes_margin, -- of requested bytes
  self_leaked_bytes_margin, -- of those never freed
  self_peak_bytes_margin, -- of those live at the peak of the process
  total_allocated_blocks_margin, -- as above, for all stacks that contain the file
  total_allocated_bytes_margin, -- of requested bytes
  total_leaked_bytes_margin, -- of those never freed
  total_peak_bytes_margin -- of those live at the peak of the process
) AS
WITH
  module_nodes AS (
    SELECT f.object_id, b.backtrace_id, b.last_descendant_id, max(b.last_descendant_id) OVER (
        PARTITION BY f.object_id ORDER BY b.backtrace_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_id
    FROM backtraces AS b JOIN frames AS f ON f.frame_id = b.frame_id
    WHERE f.object_id IS NOT NULL),
  outermost AS MATERIALIZED (
    SELECT object_id, backtrace_id, last_descendant_id FROM module_nodes
    WHERE covered_id IS NULL OR backtrace_id > covered_id),
  inclusive AS MATERIALIZED (
    SELECT t.process_id, m.object_id, sum(t.allocated_blocks) AS allocated_blocks,
      sum(t.allocated_bytes) AS allocated_bytes, sum(t.leaked_bytes) AS leaked_bytes, sum(t.peak_bytes) AS peak_bytes,
      sum(t.temporary_blocks) AS temporary_blocks, sum(t.allocated_blocks_margin * t.allocated_blocks_margin) AS allocated_blocks_square,
      sum(t.allocated_bytes_margin * t.allocated_bytes_margin) AS allocated_bytes_square,
      sum(t.leaked_bytes_margin * t.leaked_bytes_margin) AS leaked_bytes_square,
      sum(t.peak_bytes_margin * t.peak_bytes_margin) AS peak_bytes_square
    FROM processes AS p CROSS JOIN outermost AS m CROSS JOIN backtrace_totals AS t
      ON t.process_id = p.process_id AND t.backtrace_id BETWEEN m.backtrace_id AND m.last_descendant_id
    GROUP BY t.process_id, m.object_id),
  self AS MATERIALIZED (
    SELECT t.process_id, c.object_id, sum(t.allocated_blocks) AS allocated_blocks,
      sum(t.allocated_bytes) AS allocated_bytes, sum(t.leaked_bytes) AS leaked_bytes, sum(t.peak_bytes) AS peak_bytes,
      sum(t.temporary_blocks) AS temporary_blocks, sum(t.allocated_blocks_margin * t.allocated_blocks_margin) AS allocated_blocks_square,
      sum(t.allocated_bytes_margin * t.allocated_bytes_margin) AS allocated_bytes_square,
      sum(t.leaked_bytes_margin * t.leaked_bytes_margin) AS leaked_bytes_square,
      sum(t.peak_bytes_margin * t.peak_bytes_margin) AS peak_bytes_square
    FROM backtrace_totals AS t
    JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    JOIN call_sites AS c ON c.call_site_id = b.call_site_id
    GROUP BY t.process_id, c.object_id)
SELECT i.process_id, i.object_id, coalesce(s.allocated_blocks, 0), coalesce(s.allocated_bytes, 0),
  coalesce(s.leaked_bytes, 0), coalesce(s.peak_bytes, 0), coalesce(s.temporary_blocks, 0), i.allocated_blocks,
  i.allocated_bytes, i.leaked_bytes, i.peak_bytes, i.temporary_blocks,
  sqrt(iif(i.allocated_blocks_square IS NULL, NULL, coalesce(s.allocated_blocks_square, 0))),
  sqrt(iif(i.allocated_bytes_square IS NULL, NULL, coalesce(s.allocated_bytes_square, 0))),
  sqrt(iif(i.leaked_bytes_square IS NULL, NULL, coalesce(s.leaked_bytes_square, 0))),
  sqrt(iif(i.peak_bytes_square IS NULL, NULL, coalesce(s.peak_bytes_square, 0))),
  sqrt(i.allocated_blocks_square), sqrt(i.allocated_bytes_square), sqrt(i.leaked_bytes_square), sqrt(i.peak_bytes_square)
FROM inclusive AS i
LEFT JOIN self AS s ON s.process_id = i.process_id AND s.object_id = i.object_id;
