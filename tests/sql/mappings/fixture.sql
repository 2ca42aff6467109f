-- Process 1 maps 8 KiB twice: once rw- private|anonymous, unmapped after 2 s, once r-x shared, to the end; of a third piece, mapped before
-- the recording, neither protection nor flags are known. Its library lies at 0x7000000, its executable is not relocated.
-- A thread's stack is known, and when it ended. Its heap begins at 1 s with 64 KiB and has 128 KiB from 5 s on. Process 2 has a mapping of all flags there are.
.read code.sql
INSERT INTO mmaps VALUES
  (1, 1, 1, 1, 4, 0x10000, 8192, 3, 0x22, NULL, 0, NULL, 1000000000, 3000000000, 1, 7, NULL, 4096, 2000000000),
  (2, 2, 1, 2, 6, 0x20000, 8192, 5, 0x1, 5, 4096, '/opt/server/data', 2000000000, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 3, 1, NULL, NULL, 0x30000, 4096, NULL, NULL, NULL, 0, '[anon]', 0, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 4, 2, 3, 2, 0x40000, 1048576, 0, 0x1fe132, NULL, 0, NULL, 11000000000, 12000000000, NULL, NULL, NULL, 0, 11000000000);
UPDATE threads SET stack_address = 0x600000, stack_bytes = 8192, start_ns = 1500000000, end_ns = 2500000000 WHERE thread_id = 2;
INSERT INTO modules VALUES (1, 1, 2, 0, 50000, 9, NULL, NULL), (2, 1, 3, 0x7000000, 20000, 4000000000, 6000000000, NULL);
INSERT INTO heaps VALUES (1, 1, 'brk', 0x50000, 0x70000, 0x50010, 'glibc', 8, NULL);
INSERT INTO heap_extents VALUES (1, 1000000000, 0x60000), (1, 5000000000, 0x70000);
