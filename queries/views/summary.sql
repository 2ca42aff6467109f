-- SPDX-License-Identifier: MIT
-- summary: one row per named value of a process: what to look at first.
--
-- windows, recorded_ns and recorded_share describe the times in which allocations were recorded (table windows).
-- If blocks are samples (sample_bytes), *_margin is half of the width of the 95 % interval of the value. Values that samples do not show are NULL.
-- Units: 'bytes', 'blocks', 'ns', 'share' (0 to 1), 'count', 'text'. A value that was not recorded is NULL.
-- rss_max_bytes is the kernel's own maximum (processes.max_rss_bytes); it includes mtrace's log in the memory of the process. All other values
-- are without this log (rss_own_bytes). rss_highest_bytes is the highest memory sample, taken at rss_highest_ns (the last of equal ones).
-- Some samples have parts (columns of memory_samples). The highest of these is of rss_parts_ns; its rss_parts_bytes are the sum of
-- rss_heaps_bytes, rss_mappings_bytes (blocks with a mapping of their own, and mappings made through libc), rss_stacks_bytes,
-- rss_shared_bytes (shared memory), rss_files_bytes and rss_other_bytes (mapped by system calls and not through libc, or before the recording).
-- The parts of a heap are its bytes outside of blocks. If the allocator of a heap is not known (foreign_heaps counts these heaps), it
-- is unknown which of its free pages are resident. If a heap may contain blocks without a row (unseen_heaps counts these heaps:
-- heaps.unseen_blocks), its free memory is unknown. Then parts other than live and slack are NULL.
-- allocator is that of most blocks; release_advice and decay_advice say how its free memory goes back (allocator_advice). Arenas of glibc
-- (arenas counts them) are part of heap_at_* as far as they ever reached, resident or not.
-- outside_heap_at_peak_live_bytes is live in blocks with a mapping of their own.
CREATE VIEW summary(
  process_id,        -- joins processes
  name,              -- name of the value
  value,             -- number or text
  unit               -- unit of value
) AS
WITH RECURSIVE
  totals AS (
    SELECT process_id, sum(allocated_blocks) AS allocations, sum(allocated_bytes) AS allocated_bytes,
      sum(freed_blocks) AS frees, sum(freed_bytes) AS freed_bytes, sum(leaked_blocks) AS leaked_blocks,
      sum(leaked_bytes) AS leaked_bytes, sum(temporary_blocks) AS temporary_blocks,
      sum(temporary_bytes) AS temporary_bytes, sum(elided_blocks) AS elided_blocks, sum(realloc_count) AS reallocs,
      sum(realloc_copied_bytes) AS realloc_copied_bytes, sum(slack_bytes) AS slack_bytes, sum(stacks) AS stacks,
      sum(complete_blocks) AS complete,
      sum(allocated_blocks_margin * allocated_blocks_margin) AS allocations_square,
      sum(allocated_bytes_margin * allocated_bytes_margin) AS allocated_bytes_square,
      sum(leaked_blocks_margin * leaked_blocks_margin) AS leaked_blocks_square,
      sum(leaked_bytes_margin * leaked_bytes_margin) AS leaked_bytes_square,
      sum(allocated_blocks_margin * allocated_blocks_margin - leaked_blocks_margin * leaked_blocks_margin) AS frees_square,
      sum(allocated_bytes_margin * allocated_bytes_margin - leaked_bytes_margin * leaked_bytes_margin) AS freed_bytes_square,
      sum(peak_blocks_margin * peak_blocks_margin) AS peak_blocks_square,
      sum(peak_bytes_margin * peak_bytes_margin) AS peak_bytes_square
    FROM site_totals GROUP BY process_id),
  suppressed AS (
    SELECT process_id, sum(leaked_blocks) AS blocks, sum(leaked_bytes) AS bytes,
      sum(leaked_blocks_margin * leaked_blocks_margin) AS blocks_square,
      sum(leaked_bytes_margin * leaked_bytes_margin) AS bytes_square
    FROM site_leaks WHERE rule_id IS NOT NULL GROUP BY process_id),
  -- Not every SQLite has sqrt(). This is Newton's iteration from above, until the value stops falling.
  squares(process_id, of, square) AS (
    SELECT process_id, 'allocations', allocations_square FROM totals WHERE allocations_square > 0 UNION ALL
    SELECT process_id, 'allocated_bytes', allocated_bytes_square FROM totals WHERE allocated_bytes_square > 0 UNION ALL
    SELECT process_id, 'leaked_blocks', leaked_blocks_square FROM totals WHERE leaked_blocks_square > 0 UNION ALL
    SELECT process_id, 'leaked_bytes', leaked_bytes_square FROM totals WHERE leaked_bytes_square > 0 UNION ALL
    SELECT process_id, 'frees', frees_square FROM totals WHERE frees_square > 0 UNION ALL
    SELECT process_id, 'freed_bytes', freed_bytes_square FROM totals WHERE freed_bytes_square > 0 UNION ALL
    SELECT process_id, 'peak_blocks', peak_blocks_square FROM totals WHERE peak_blocks_square > 0 UNION ALL
    SELECT process_id, 'peak_bytes', peak_bytes_square FROM totals WHERE peak_bytes_square > 0 UNION ALL
    SELECT process_id, 'suppressed_blocks', blocks_square FROM suppressed WHERE blocks_square > 0 UNION ALL
    SELECT process_id, 'suppressed_bytes', bytes_square FROM suppressed WHERE bytes_square > 0),
  roots(process_id, of, square, root, next) AS (
    SELECT process_id, of, square, max(square, 1.0), (max(square, 1.0) + square / max(square, 1.0)) / 2 FROM squares UNION ALL
    SELECT process_id, of, square, next, (next + square / next) / 2 FROM roots WHERE next < root),
  margins AS MATERIALIZED (
    SELECT process_id,
      min(root) FILTER (WHERE of = 'allocations') AS allocations,
      min(root) FILTER (WHERE of = 'allocated_bytes') AS allocated_bytes,
      min(root) FILTER (WHERE of = 'leaked_blocks') AS leaked_blocks,
      min(root) FILTER (WHERE of = 'leaked_bytes') AS leaked_bytes,
      min(root) FILTER (WHERE of = 'frees') AS frees,
      min(root) FILTER (WHERE of = 'freed_bytes') AS freed_bytes,
      min(root) FILTER (WHERE of = 'peak_blocks') AS peak_blocks,
      min(root) FILTER (WHERE of = 'peak_bytes') AS peak_bytes,
      min(root) FILTER (WHERE of = 'suppressed_blocks') AS suppressed_blocks,
      min(root) FILTER (WHERE of = 'suppressed_bytes') AS suppressed_bytes
    FROM roots GROUP BY process_id),
  heap AS (
    SELECT n.process_id, n.reason, sum(h.extent_bytes) AS extent, sum(h.live_bytes) AS live, sum(h.slack_bytes) AS slack,
      iif(count(h.top_bytes) = count(*), sum(h.overhead_bytes), NULL) AS overhead, iif(count(h.top_bytes) = count(*), sum(h.hole_bytes), NULL) AS holes,
      iif(count(h.top_bytes) = count(*), sum(h.free_page_bytes), NULL) AS free_pages, iif(count(h.top_bytes) = count(*), sum(h.top_bytes), NULL) AS top
    FROM heap_states AS h JOIN snapshots AS n ON n.snapshot_id = h.snapshot_id
    WHERE n.reason IN ('peak', 'end') GROUP BY n.process_id, n.reason),
  highest AS (
    SELECT *, count(*) OVER (PARTITION BY process_id) AS samples, row_number() OVER (
        PARTITION BY process_id ORDER BY rss_bytes DESC, at_ns DESC) AS place
    FROM memory_samples),
  parts AS (
    SELECT *, row_number() OVER (PARTITION BY process_id ORDER BY rss_bytes DESC, at_ns DESC) AS place
    FROM memory_samples WHERE heap_resident_bytes IS NOT NULL),
  counts AS (
    SELECT p.process_id, (SELECT count(*) FROM threads AS t WHERE t.process_id = p.process_id) AS threads,
      (SELECT count(*) FROM allocation_failures AS f WHERE f.process_id = p.process_id) AS failures,
      (SELECT sum(e.allocator IS NULL) FROM heaps AS e WHERE e.process_id = p.process_id) AS foreign_heaps,
      (SELECT count(*) FROM heaps AS e WHERE e.process_id = p.process_id AND e.kind = 'arena' AND e.allocator = 'glibc') AS arenas,
      (SELECT count(e.unseen_blocks) FROM heaps AS e WHERE e.process_id = p.process_id) AS unseen_heaps,
      (SELECT count(*) FROM windows AS w WHERE w.process_id = p.process_id) AS windows,
      (SELECT total((ifnull(w.end_ns, p.end_ns) - w.start_ns) * w.recorded_share) FROM windows AS w WHERE w.process_id = p.process_id) AS recorded_ns
    FROM processes AS p)
SELECT p.process_id, j.value ->> 0 AS name, j.value ->> 1 AS value, j.value ->> 2 AS unit
FROM processes AS p
JOIN counts AS c ON c.process_id = p.process_id
JOIN allocator_advice AS a ON a.process_id = p.process_id
LEFT JOIN totals AS t ON t.process_id = p.process_id
LEFT JOIN margins AS m ON m.process_id = p.process_id
LEFT JOIN suppressed AS s ON s.process_id = p.process_id
LEFT JOIN heap AS h ON h.process_id = p.process_id AND h.reason = 'peak'
LEFT JOIN heap AS i ON i.process_id = p.process_id AND i.reason = 'end'
LEFT JOIN highest AS o ON o.process_id = p.process_id AND o.place = 1
LEFT JOIN parts AS r ON r.process_id = p.process_id AND r.place = 1
CROSS JOIN json_each(json_array(
  json_array('executable', p.executable, 'text'),
  json_array('pid', p.pid, 'count'),
  json_array('end_kind', p.end_kind, 'text'),
  json_array('end_value', p.end_value, 'count'),
  json_array('duration_ns', p.duration_ns, 'ns'),
  json_array('threads', c.threads, 'count'),
  json_array('allocations', coalesce(t.allocations, 0), 'blocks'),
  json_array('allocated_bytes', coalesce(t.allocated_bytes, 0), 'bytes'),
  json_array('frees', coalesce(t.frees, 0), 'blocks'),
  json_array('freed_bytes', coalesce(t.freed_bytes, 0), 'bytes'),
  json_array('reallocs', iif(p.sample_bytes IS NULL, coalesce(t.reallocs, 0), NULL), 'count'),
  json_array('realloc_copied_bytes', iif(p.sample_bytes IS NULL, coalesce(t.realloc_copied_bytes, 0), NULL), 'bytes'),
  json_array('failures', c.failures, 'count'),
  json_array('inherited_frees', p.inherited_frees, 'blocks'),
  json_array('peak_bytes', p.peak_bytes, 'bytes'),
  json_array('peak_blocks', p.peak_blocks, 'blocks'),
  json_array('peak_ns', p.peak_ns, 'ns'),
  json_array('leaked_bytes', iif(p.end_kind IS 'exec', 0, coalesce(t.leaked_bytes, 0)), 'bytes'),
  json_array('leaked_blocks', iif(p.end_kind IS 'exec', 0, coalesce(t.leaked_blocks, 0)), 'blocks'),
  json_array('suppressed_bytes', coalesce(s.bytes, 0), 'bytes'),
  json_array('suppressed_blocks', coalesce(s.blocks, 0), 'blocks'),
  json_array('temporary_blocks', iif(p.sample_bytes IS NULL, coalesce(t.temporary_blocks, 0), NULL), 'blocks'),
  json_array('temporary_bytes', iif(p.sample_bytes IS NULL, coalesce(t.temporary_bytes, 0), NULL), 'bytes'),
  json_array('temporary_share', iif(p.sample_bytes IS NULL, 1.0 * t.temporary_blocks / t.allocations, NULL), 'share'),
  json_array('elided_blocks', coalesce(t.elided_blocks, 0), 'blocks'),
  json_array('slack_bytes', coalesce(t.slack_bytes, 0), 'bytes'),
  json_array('heap_at_peak_bytes', h.extent, 'bytes'),
  json_array('heap_at_peak_live_bytes', h.live, 'bytes'),
  json_array('heap_at_peak_slack_bytes', h.slack, 'bytes'),
  json_array('heap_at_peak_overhead_bytes', h.overhead, 'bytes'),
  json_array('heap_at_peak_hole_bytes', h.holes, 'bytes'),
  json_array('heap_at_peak_free_page_bytes', h.free_pages, 'bytes'),
  json_array('heap_at_peak_top_bytes', h.top, 'bytes'),
  json_array('outside_heap_at_peak_live_bytes', p.peak_bytes - h.live, 'bytes'),
  json_array('allocator', a.allocator, 'text'),
  json_array('release_advice', a.release, 'text'),
  json_array('decay_advice', a.decay, 'text'),
  json_array('arenas', c.arenas, 'count'),
  json_array('foreign_heaps', c.foreign_heaps, 'count'),
  json_array('unseen_heaps', c.unseen_heaps, 'count'),
  json_array('heap_at_end_bytes', i.extent, 'bytes'),
  json_array('heap_at_end_live_bytes', i.live, 'bytes'),
  json_array('heap_at_end_slack_bytes', i.slack, 'bytes'),
  json_array('heap_at_end_overhead_bytes', i.overhead, 'bytes'),
  json_array('heap_at_end_hole_bytes', i.holes, 'bytes'),
  json_array('heap_at_end_free_page_bytes', i.free_pages, 'bytes'),
  json_array('heap_at_end_top_bytes', i.top, 'bytes'),
  json_array('rss_highest_bytes', o.rss_bytes, 'bytes'),
  json_array('rss_highest_ns', o.at_ns, 'ns'),
  json_array('rss_max_bytes', p.max_rss_bytes, 'bytes'),
  json_array('rss_samples', o.samples, 'count'),
  json_array('rss_own_bytes', o.own_bytes, 'bytes'),
  json_array('rss_parts_ns', r.at_ns, 'ns'),
  json_array('rss_parts_bytes', r.rss_bytes, 'bytes'),
  json_array('rss_heaps_bytes', r.heap_resident_bytes, 'bytes'),
  json_array('rss_mappings_bytes', r.own_mapping_resident_bytes, 'bytes'),
  json_array('rss_stacks_bytes', r.thread_stack_resident_bytes, 'bytes'),
  json_array('rss_shared_bytes', r.shared_memory_bytes, 'bytes'),
  json_array('rss_files_bytes', r.file_resident_bytes, 'bytes'),
  json_array('rss_other_bytes', r.other_resident_bytes, 'bytes'),
  json_array('windows', c.windows, 'count'),
  json_array('recorded_ns', CAST(c.recorded_ns AS INTEGER), 'ns'),
  json_array('recorded_share', iif(p.duration_ns > 0, min(1.0, c.recorded_ns / p.duration_ns), NULL), 'share'),
  json_array('events', p.events, 'count'),
  json_array('events_dropped', p.events_dropped, 'count'),
  json_array('stacks', coalesce(t.stacks, 0), 'count'),
  json_array('complete_share', 1.0 * coalesce(t.complete, 0) / t.allocations, 'share'),
  json_array('sample_bytes', p.sample_bytes, 'bytes'),
  json_array('allocations_margin', coalesce(m.allocations, t.allocations_square), 'blocks'),
  json_array('allocated_bytes_margin', coalesce(m.allocated_bytes, t.allocated_bytes_square), 'bytes'),
  json_array('frees_margin', coalesce(m.frees, t.frees_square), 'blocks'),
  json_array('freed_bytes_margin', coalesce(m.freed_bytes, t.freed_bytes_square), 'bytes'),
  json_array('leaked_blocks_margin', iif(p.end_kind IS 'exec', NULL, coalesce(m.leaked_blocks, t.leaked_blocks_square)), 'blocks'),
  json_array('leaked_bytes_margin', iif(p.end_kind IS 'exec', NULL, coalesce(m.leaked_bytes, t.leaked_bytes_square)), 'bytes'),
  json_array('peak_blocks_margin', coalesce(m.peak_blocks, t.peak_blocks_square), 'blocks'),
  json_array('peak_bytes_margin', coalesce(m.peak_bytes, t.peak_bytes_square), 'bytes'),
  json_array('suppressed_blocks_margin', coalesce(m.suppressed_blocks, s.blocks_square, iif(p.sample_bytes > 0, 0.0, NULL)), 'blocks'),
  json_array('suppressed_bytes_margin', coalesce(m.suppressed_bytes, s.bytes_square, iif(p.sample_bytes > 0, 0.0, NULL)), 'bytes')
)) AS j
ORDER BY p.process_id, j.key;
