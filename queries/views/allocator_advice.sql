-- SPDX-License-Identifier: MIT
-- allocator_advice: one row per process: its allocator, and how its free memory goes back to the system.
--
-- Findings and notes use these texts: each completes a sentence that begins with "To give free pages back,".
CREATE VIEW allocator_advice(
  process_id,        -- joins processes
  allocator,         -- processes.allocator; NULL: unknown
  memory,            -- what to call memory that it holds: 'heap' of glibc, 'jemalloc memory'
  release,           -- how the program gives its free pages back immediately
  decay              -- how to make the allocator give them back earlier by itself
) AS
SELECT p.process_id, p.allocator,
  CASE WHEN p.allocator = 'glibc' THEN 'heap' WHEN p.allocator IS NULL THEN 'allocator memory' ELSE p.allocator || ' memory' END,
  CASE p.allocator
    WHEN 'glibc' THEN 'call malloc_trim(0)'
    WHEN 'jemalloc' THEN 'call mallctl("arena.4096.purge", NULL, NULL, NULL, 0), which purges all arenas'
    WHEN 'tcmalloc' THEN 'call MallocExtension::instance()->ReleaseFreeMemory()'
    WHEN 'mimalloc' THEN 'call mi_collect(true)'
    ELSE 'call the purge function of the allocator' END,
  CASE p.allocator
    WHEN 'glibc' THEN 'limit arenas by M_ARENA_MAX, or lower M_TRIM_THRESHOLD'
    WHEN 'jemalloc' THEN 'set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl("arena.<i>.dirty_decay_ms")'
    WHEN 'tcmalloc' THEN 'set TCMALLOC_RELEASE_RATE=10, or call MallocExtension::instance()->SetMemoryReleaseRate(10)'
    WHEN 'mimalloc' THEN 'set MIMALLOC_PURGE_DELAY=0 (before version 2.1: MIMALLOC_RESET_DELAY=0)'
    ELSE 'see how its free pages decay' END
FROM processes AS p
ORDER BY p.process_id;
