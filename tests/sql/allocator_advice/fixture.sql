-- Process 1 has jemalloc, process 2 glibc; of process 3 it is not known.
.read code.sql
UPDATE processes SET allocator = 'jemalloc' WHERE process_id = 1;
UPDATE processes SET allocator = 'glibc' WHERE process_id = 2;
