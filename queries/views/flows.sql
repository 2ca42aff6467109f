-- SPDX-License-Identifier: MIT
-- flows: one row per pair of threads: who frees whose memory.
CREATE VIEW flows(
  process_id,        -- joins processes
  blocks,            -- blocks that went from the one to the other
  bytes,             -- their requested bytes
  thread_id,         -- the thread that allocated; joins threads
  thread,            -- its name
  free_thread_id,    -- the thread that freed or reallocated; joins threads; 0: others, which a log of --aggregate does not tell apart
  free_thread        -- its name; of 0: 'others'
) AS
SELECT f.process_id, f.blocks, f.bytes, f.thread_id, t.name, f.free_thread_id, CASE f.free_thread_id WHEN 0 THEN 'others' ELSE e.name END
FROM thread_flows AS f
LEFT JOIN threads AS t ON t.thread_id = f.thread_id
LEFT JOIN threads AS e ON e.thread_id = f.free_thread_id
ORDER BY f.thread_id = f.free_thread_id, f.bytes DESC, f.blocks DESC, f.process_id, f.thread_id, f.free_thread_id;
