-- SPDX-License-Identifier: MIT
-- flows: one row per pair of threads: the thread that allocated memory, and the thread that freed it.
CREATE VIEW flows(
  process_id,        -- joins processes
  blocks,            -- blocks that the first thread allocated and the second freed
  bytes,             -- their requested bytes
  thread_id,         -- thread that allocated; joins threads
  thread,            -- its name
  free_thread_id,    -- thread that freed or reallocated; joins threads; 0: other threads, which a log of --aggregate does not distinguish
  free_thread        -- its name; 'others' for 0
) AS
SELECT f.process_id, f.blocks, f.bytes, f.thread_id, t.name, f.free_thread_id, CASE f.free_thread_id WHEN 0 THEN 'others' ELSE e.name END
FROM thread_flows AS f
LEFT JOIN threads AS t ON t.thread_id = f.thread_id
LEFT JOIN threads AS e ON e.thread_id = f.free_thread_id
ORDER BY f.thread_id = f.free_thread_id, f.bytes DESC, f.blocks DESC, f.process_id, f.thread_id, f.free_thread_id;
