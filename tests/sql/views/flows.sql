-- Blocks freed by another thread come first, by bytes; then those freed by their own. Thread 9 is unknown: no name. 0 are others.
.read code.sql
INSERT INTO thread_flows VALUES (1, 1, 1, 500, 50000), (1, 1, 2, 7, 700), (1, 2, 1, 9, 700), (1, 2, 9, 9, 700), (2, 3, 3, 4, 400), (2, 3, 0, 40, 4000);
-- expect
--|process_id,blocks,bytes,thread_id,thread,free_thread_id,free_thread
--|2,40,4000,3,server,0,others
--|1,9,700,2,pool,1,server
--|1,9,700,2,pool,9,
--|1,7,700,1,server,2,pool
--|1,500,50000,1,server,1,server
--|2,4,400,3,server,3,server
