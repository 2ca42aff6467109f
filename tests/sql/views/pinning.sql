-- At the end site 2 pins a page with 100 bytes live and one with 48 (the emptiest: its block 71 is the example), by two of its
-- stacks; site 5 one page. At the peak
-- site 5. Pages of several stacks: of stack 4 only operator new is common, so that the site of 7 is unknown; with Session::clone,
-- too, 3 are of site 2 for certain; setlocale above worker alike. Pages are 16 KiB here.
.read code.sql
UPDATE meta SET value = 16384 WHERE key = 'page_size';
INSERT INTO heaps VALUES (1, 1, 'brk', 0x10000, 0x14000, 0x10010, 'glibc', 8, NULL);
INSERT INTO snapshots VALUES (1, 1, 60000000000, 'peak'), (2, 1, 100000000000, 'end');
INSERT INTO heap_pins VALUES
  (1, 8, 0, 1, 4000, 4000, 70), (1, 4, 1, 7, 700, 700, 74), (1, 4, 2, 3, 90, 20, 75),
  (2, 4, 0, 1, 100, 100, 70), (2, 5, 0, 1, 48, 48, 71), (2, 9, 0, 1, 500, 500, 73), (2, 9, 1, 9, 900, 900, 76),
  (2, 9, 2, 1, 30, 30, 77);
-- expect
--|process_id,at,at_ns,pinned_pages,would_free_bytes,usable_bytes,example_allocation_id,function,source,line,module,call_site_id
--|1,end,100000000000,2,32768,148,71,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|1,end,100000000000,2,32768,530,77,worker,,,/opt/server/lib/libwork.so,5
--|1,peak,60000000000,3,49152,90,75,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2
--|1,peak,60000000000,1,16384,4000,70,worker,,,/opt/server/lib/libwork.so,5
