-- SPDX-License-Identifier: MIT
-- by_module: one row per file of code: what it allocates itself, and together with everything it calls.
--
-- self: the call site is in this module. inclusive: the module is anywhere on the stack, counted once.
CREATE VIEW by_module(
  process_id,              -- joins processes
  self_allocated_blocks,   -- blocks allocated itself
  self_allocated_bytes,    -- requested bytes allocated itself
  self_leaked_bytes,       -- bytes leaked itself
  self_peak_bytes,         -- bytes live at the process's peak itself
  self_temporary_blocks,   -- temporary blocks itself
  inclusive_allocated_blocks, -- blocks allocated in and below it
  inclusive_allocated_bytes, -- requested bytes allocated in and below it
  inclusive_leaked_bytes,  -- bytes leaked in and below it
  inclusive_peak_bytes,    -- bytes live at the process's peak in and below it
  inclusive_temporary_blocks, -- temporary blocks in and below it
  module,                  -- path of the file
  object_id                -- joins objects
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
      sum(t.temporary_blocks) AS temporary_blocks
    FROM processes AS p CROSS JOIN outermost AS m CROSS JOIN backtrace_totals AS t
      ON t.process_id = p.process_id AND t.backtrace_id BETWEEN m.backtrace_id AND m.last_descendant_id
    GROUP BY t.process_id, m.object_id),
  self AS MATERIALIZED (
    SELECT t.process_id, c.object_id, sum(t.allocated_blocks) AS allocated_blocks,
      sum(t.allocated_bytes) AS allocated_bytes, sum(t.leaked_bytes) AS leaked_bytes, sum(t.peak_bytes) AS peak_bytes,
      sum(t.temporary_blocks) AS temporary_blocks
    FROM backtrace_totals AS t
    JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
    JOIN call_sites AS c ON c.call_site_id = b.call_site_id
    GROUP BY t.process_id, c.object_id)
SELECT i.process_id, coalesce(s.allocated_blocks, 0), coalesce(s.allocated_bytes, 0) AS self_bytes,
  coalesce(s.leaked_bytes, 0), coalesce(s.peak_bytes, 0), coalesce(s.temporary_blocks, 0), i.allocated_blocks,
  i.allocated_bytes, i.leaked_bytes, i.peak_bytes, i.temporary_blocks, o.path, i.object_id
FROM inclusive AS i
JOIN objects AS o ON o.object_id = i.object_id
LEFT JOIN self AS s ON s.process_id = i.process_id AND s.object_id = i.object_id
ORDER BY self_bytes DESC, i.allocated_bytes DESC, i.process_id, i.object_id;
