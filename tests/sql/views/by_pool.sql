-- Pools with the most live memory come first.
.read code.sql
INSERT INTO pools VALUES (1, 1, 'names', 4, 100, 1, 10, 3, 90, 95, 7, 2, 1700, 700, 610), (2, 1, 'idle', 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0),
  (3, 2, 'slim', 9, 500, 1, 50, 8, 450, 450, 3, NULL, NULL, NULL, NULL);
-- expect
--|process_id,allocated_bytes,allocated_blocks,live_bytes,live_blocks,peak_bytes,peak_ns,taken_blocks,taken_bytes,held_bytes,spare_bytes,pool_id,name
--|2,500,9,450,8,450,3,,,,,3,slim
--|1,100,4,90,3,95,7,2,1700,700,610,1,names
--|1,0,0,0,0,0,,0,0,0,0,2,idle
