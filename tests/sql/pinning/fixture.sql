-- At the end site 2 pins a page with 100 bytes live and one with 48 (the emptiest: its block 71 is the example), by two of its
-- stacks; site 5 one page. At the peak site 5 alone. Pages are 16 KiB here.
.read code.sql
UPDATE meta SET value = 16384 WHERE key = 'page_size';
INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000, 0x10010, 'glibc');
INSERT INTO snapshots VALUES (1, 1, 60000000000, 'peak'), (2, 1, 100000000000, 'end');
INSERT INTO heap_pins VALUES
  (1, 8, 1, 4000, 4000, 70),
  (2, 4, 1, 100, 100, 70), (2, 5, 1, 48, 48, 71), (2, 9, 1, 500, 500, 73);
