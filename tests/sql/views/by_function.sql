-- As the importer counted: columns go straight through; ordered by self bytes, then inclusive bytes, then ids.
.read code.sql
INSERT INTO function_totals VALUES
  (1, 1, 0, 0, 0, 0, 0, 108, 14540, 5020, 9970, 82, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 2, 4, 40, 20, 20, 0, 17, 5240, 4720, 4620, 2, 0.1, 0.2, 0.3, 0.4, 1.1, 1.2, 1.3, 1.4),
  (1, 3, 12, 1200, 700, 600, 2, 12, 1200, 700, 600, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (2, 1, 0, 0, 0, 0, 0, 5, 500, 100, 500, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (2, 2, 0, 0, 0, 0, 0, 5, 500, 100, 500, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
-- expect
--|process_id,self_allocated_blocks,self_allocated_bytes,self_leaked_bytes,self_peak_bytes,self_temporary_blocks,inclusive_allocated_blocks,inclusive_allocated_bytes,inclusive_leaked_bytes,inclusive_peak_bytes,inclusive_temporary_blocks,function,function_id,self_allocated_blocks_margin,self_allocated_bytes_margin,self_leaked_bytes_margin,self_peak_bytes_margin,inclusive_allocated_blocks_margin,inclusive_allocated_bytes_margin,inclusive_leaked_bytes_margin,inclusive_peak_bytes_margin
--|1,12,1200,700,600,2,12,1200,700,600,2,"Session::clone(int) const",3,,,,,,,,
--|1,4,40,20,20,0,17,5240,4720,4620,2,main,2,0.1,0.2,0.3,0.4,1.1,1.2,1.3,1.4
--|1,0,0,0,0,0,108,14540,5020,9970,82,_start,1,,,,,,,,
--|2,0,0,0,0,0,5,500,100,500,4,_start,1,,,,,,,,
--|2,0,0,0,0,0,5,500,100,500,4,main,2,,,,,,,,
