-- SPDX-License-Identifier: MIT
-- allocator_advice: one row per process: its allocator, and how its free memory goes back to the system.
--
-- Findings and notes use these texts: each completes a sentence that begins with "To give free pages back,".
-- glibc trims by itself only the free top of a heap. What an option would change depends on where the free memory was at the peak or
-- at the end, whichever had more of it: in several arenas that grew at different times (together they are larger than what was ever live),
-- at the top of the brk heap, or below a live block.
CREATE VIEW allocator_advice(
  process_id,        -- joins processes
  allocator,         -- processes.allocator; NULL: unknown
  memory,            -- what to call memory that it holds: 'heap' of glibc, 'jemalloc memory'
  release,           -- how the program gives its free pages back immediately
  decay              -- how to make the allocator give them back earlier by itself; NULL: no option does that
) AS
WITH
  free AS (
    SELECT n.process_id, sum(t.extent_bytes) AS extent_bytes, sum(t.live_bytes) AS live_bytes, count(*) FILTER (WHERE h.kind = 'arena') AS arenas,
      total(t.extent_bytes - t.live_bytes) FILTER (WHERE h.kind = 'arena') AS arena_bytes, total(t.top_bytes) FILTER (WHERE h.kind = 'brk') AS top_bytes
    FROM heap_states AS t
    JOIN snapshots AS n ON n.snapshot_id = t.snapshot_id
    JOIN heaps AS h ON h.heap_id = t.heap_id
    WHERE n.reason IN ('peak', 'end') AND h.allocator = 'glibc'
    GROUP BY n.snapshot_id),
  most AS (
    SELECT *, extent_bytes - live_bytes AS bytes, max(live_bytes) OVER (PARTITION BY process_id) AS peak_bytes,
      row_number() OVER (PARTITION BY process_id ORDER BY extent_bytes - live_bytes DESC) AS place
    FROM free)
SELECT p.process_id, p.allocator,
  CASE WHEN p.allocator = 'glibc' THEN 'heap' WHEN p.allocator IS NULL THEN 'allocator memory' ELSE p.allocator || ' memory' END,
  CASE p.allocator
    WHEN 'glibc' THEN 'call malloc_trim(0)'
    WHEN 'jemalloc' THEN 'call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas'
    WHEN 'tcmalloc' THEN 'call MallocExtension::instance()->ReleaseFreeMemory()'
    WHEN 'mimalloc' THEN 'call mi_collect(true)'
    ELSE 'call the purge function of the allocator' END,
  CASE p.allocator
    WHEN 'glibc' THEN CASE
      WHEN m.arenas >= 2 AND m.arena_bytes >= m.bytes / 2 AND m.extent_bytes >= 1.5 * m.peak_bytes THEN 'set MALLOC_ARENA_MAX=2, because ' || m.arenas || ' arenas hold most of the free memory'
      WHEN m.top_bytes >= m.bytes / 2 THEN 'lower M_TRIM_THRESHOLD, because most of the free memory is above the last live block' END
    WHEN 'jemalloc' THEN 'set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms")'
    WHEN 'tcmalloc' THEN 'set TCMALLOC_RELEASE_RATE=10, or call MallocExtension::instance()->SetMemoryReleaseRate(10)'
    WHEN 'mimalloc' THEN 'set MIMALLOC_PURGE_DELAY=0 (before version 2.1: MIMALLOC_RESET_DELAY=0)'
    ELSE 'see how its free pages decay' END
FROM processes AS p
LEFT JOIN most AS m ON m.process_id = p.process_id AND m.place = 1
ORDER BY p.process_id;
