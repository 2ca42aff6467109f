-- Two classes of process 1, then its leaked blocks: 14 of 5050 bytes; process 2 has one leaked block of 100 bytes, process 3 one of 64.
.read code.sql
.read totals.sql
INSERT INTO lifetime_classes VALUES (1, 1000, 10000, 5, 500), (1, 0, 1000, 80, 8000), (2, 0, 1000, 4, 400);
-- expect
--|process_id,from_ns,to_ns,blocks,bytes,leaked
--|1,0,1000,80,8000,0
--|1,1000,10000,5,500,0
--|1,,,14,5050,1
--|2,0,1000,4,400,0
--|2,,,1,100,1
--|3,,,1,64,1
