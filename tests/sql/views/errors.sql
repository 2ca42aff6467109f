-- Blocks of process 1 (thread 1), allocated by stack 4: two at 0x1000, one after the other, freed at 30 by stack 7 and at 60 by stack 8;
-- a live one at 0x2000 of 100 bytes; one at 0x3000 that thread 2 reallocated at 40. Process 2 (thread 3) has a block at 0x1000, too.
--
-- 1  at 35 the first block is freed again       double_free: freed first by 7
-- 2  at 70 the second one                       double_free: freed first by 8
-- 3  at 80 an address inside of the live block  invalid_free at offset 16
-- 4  at 90 right behind the live block          invalid_free of no block: 8 bytes of slack belong to it, the next do not
-- 5  at 95 what realloc has moved               double_free by realloc
-- 6  at 20 in process 2 before its block was    invalid_free: the block of process 1 is another one
-- 7  at 99 without a stack, inside a freed one  invalid_free of no block
.read code.sql
WITH unpacked(allocation_id, alloc_ns, lifetime_ns, address, size_bytes, slack_bytes, backtrace_id, free_backtrace_id, thread_id, other_free_thread_id, ended_by) AS (VALUES
  (1, 10,   20, 0x1000,  24, 0, 4,    7, 1, NULL, 1),
  (2, 10, NULL, 0x2000, 100, 8, 4, NULL, 1, NULL, 0),
  (3, 15,   25, 0x3000,  50, 6, 4,    6, 1,    2, 2),
  (4, 40,   20, 0x1000,  24, 0, 4,    8, 1, NULL, 1),
  (5, 50, NULL, 0x1000,  24, 0, 6, NULL, 3, NULL, 0))
INSERT INTO packed_allocation_rows
SELECT alloc_ns, lifetime_ns, address, size_bytes, slack_bytes, backtrace_id, free_backtrace_id, -other_free_thread_id,
  ended_by + 256 * thread_id - 0x1000101, allocation_id
FROM unpacked;
INSERT INTO unmatched_frees (unmatched_free_id, process_id, thread_id, at_ns, backtrace_id, call, address) VALUES (1, 1, 1, 35, 2, 'free', 0x1000), (2, 1, 2, 70, 7, 'free', 0x1000), (3, 1, 1, 80, 7, 'free', 0x2010),
  (4, 1, 1, 90, 7, 'free', 0x206c), (5, 1, 1, 95, 6, 'realloc', 0x3000), (6, 2, 3, 20, 7, 'free', 0x1000), (7, 1, 1, 99, NULL, 'free', 0x1008);
-- expect
--|process_id,kind,call,at_ns,address,offset_bytes,size_bytes,alloc_ns,first_free_ns,thread_id,first_free_thread_id,allocation_id,backtrace_id,alloc_backtrace_id,first_free_backtrace_id,function,source,line,module,call_site_id,stack,alloc_stack,first_free_stack
--|2,invalid_free,free,20,4096,,,,,3,,,7,,,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,"Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start",,
--|1,double_free,free,35,4096,0,24,10,30,1,1,1,2,4,7,main,/opt/server/src/main.c,10,/opt/server/bin/server,1,"main /opt/server/src/main.c:10 < _start","operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start","Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start"
--|1,double_free,free,70,4096,0,24,40,60,2,1,4,7,4,8,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,"Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start","operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start","worker < _start"
--|1,invalid_free,free,80,8208,16,100,10,,1,,2,7,4,,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,"Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start","operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start",
--|1,invalid_free,free,90,8300,,,,,1,,,7,,,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,"Session::close /opt/server/src/session.c:140 < main /opt/server/src/main.c:10 < _start",,
--|1,double_free,realloc,95,12288,0,50,15,40,1,2,3,6,4,6,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,"Cache::reserve /opt/server/src/cache.c:31 < main /opt/server/src/main.c:10 < _start","operator new(unsigned long) < Session::clone(int) const /opt/server/src/session.c:88 < main /opt/server/src/main.c:10 < _start","Cache::reserve /opt/server/src/cache.c:31 < main /opt/server/src/main.c:10 < _start"
--|1,invalid_free,free,99,4104,,,,,1,,,,,,,,,,,,,
