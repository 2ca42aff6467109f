.read code.sql
INSERT INTO size_classes VALUES
  (2, 1, 16, 5, 50, 0, 0, 4, 20),
  (1, 17, 32, 3, 90, 1, 32, 0, 6),
  (1, 0, 0, 2, 0, 1, 0, 1, 48);
-- expect
--|process_id,from_bytes,to_bytes,blocks,bytes,leaked_blocks,leaked_bytes,temporary_blocks,slack_bytes
--|1,0,0,2,0,1,0,1,48
--|1,17,32,3,90,1,32,0,6
--|2,1,16,5,50,0,0,4,20
