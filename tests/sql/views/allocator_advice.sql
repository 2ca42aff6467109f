-- Process 1 has jemalloc, process 2 glibc; of process 3 it is not known.
.read code.sql
UPDATE processes SET allocator = 'jemalloc' WHERE process_id = 1;
UPDATE processes SET allocator = 'glibc' WHERE process_id = 2;
-- expect
--|process_id,allocator,memory,release,decay
--|1,jemalloc,"jemalloc memory","call mallctl(""arena.4096.purge"", NULL, NULL, NULL, 0), which purges all arenas","set MALLOC_CONF=dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true, or call mallctl(""arena.<i>.dirty_decay_ms"")"
--|2,glibc,heap,"call malloc_trim(0)","limit arenas by M_ARENA_MAX, or lower M_TRIM_THRESHOLD"
--|3,,"allocator memory","call the purge function of the allocator","see how its free pages decay"
