-- At the end site 2 pins pages 0x10000 (100 bytes live) and 0x11000 (48 bytes, the emptiest: its block 71 is the example), by two
-- of its stacks; site 5 one page. At the peak site 5 alone. Page 0x12000 belongs to several stacks: to nobody. Pages are 16 KiB here.
.read code.sql
UPDATE meta SET value = 16384 WHERE key = 'page_size';
INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000);
INSERT INTO snapshots VALUES (1, 1, 60000000000, 'peak'), (2, 1, 100000000000, 'end');
INSERT INTO heap_pages VALUES
  (1, 0x10000, 1, 4000, 10, 8, 70),
  (2, 0x10000, 1, 100, 1, 4, 70), (2, 0x11000, 1, 48, 1, 5, 71), (2, 0x12000, 1, 64, 2, NULL, 72), (2, 0x13000, 1, 500, 5, 9, 73);
