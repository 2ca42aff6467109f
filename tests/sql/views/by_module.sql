-- Self: site 5 and 6 in libwork.so (94 blocks, 9330 bytes), sites 1 to 3 in server (17 blocks, 5240 bytes), none in libc or libstdc++.
-- Inclusive: everything but stack 11 is below _start in libc (108 blocks), though libc is on stack 9 twice; server has what is below main
-- (17 blocks), libstdc++ what came through operator new (stack 4: 10 blocks).
.read code.sql
.read totals.sql
-- expect
--|process_id,self_allocated_blocks,self_allocated_bytes,self_leaked_bytes,self_peak_bytes,self_temporary_blocks,inclusive_allocated_blocks,inclusive_allocated_bytes,inclusive_leaked_bytes,inclusive_peak_bytes,inclusive_temporary_blocks,module,object_id,self_allocated_blocks_margin,self_allocated_bytes_margin,self_leaked_bytes_margin,self_peak_bytes_margin,inclusive_allocated_blocks_margin,inclusive_allocated_bytes_margin,inclusive_leaked_bytes_margin,inclusive_peak_bytes_margin
--|1,94,9330,330,5380,80,94,9330,330,5380,80,/opt/server/lib/libwork.so,3,,,,,,,,
--|1,17,5240,4720,4620,2,17,5240,4720,4620,2,/opt/server/bin/server,2,,,,,,,,
--|2,5,500,100,500,4,5,500,100,500,4,/opt/server/bin/server,2,,,,,,,,
--|3,1,64,64,64,0,1,64,64,64,0,/opt/server/bin/server,2,,,,,,,,
--|1,0,0,0,0,0,108,14540,5020,9970,82,/usr/lib/libc.so.6,1,,,,,,,,
--|1,0,0,0,0,0,10,1000,600,500,2,/usr/lib/libstdc++.so.6,4,,,,,,,,
--|2,0,0,0,0,0,5,500,100,500,4,/usr/lib/libc.so.6,1,,,,,,,,
--|3,0,0,0,0,0,1,64,64,64,0,/usr/lib/libc.so.6,1,,,,,,,,
