-- SPDX-License-Identifier: MIT
-- errors: one row per free or realloc of an address that was not a live block: double and invalid frees.
--
-- If an address is allocated again between two frees, the second free ends the newer block. The row then shows the correct free
-- of the newer block, and first_free_stack is the wrong call.
-- A pointer of an unrecorded allocator (one of the program, or one inside an executable) is an invalid_free, even if the call
-- was correct. So is a pointer whose allocation was dropped from the log: see events_dropped of processes.
-- Not detected: errors of fork children and of processes that were attached to, or recorded at times, because their blocks may be
-- older; and errors in memory that is not passed to free or realloc. With --sample-bytes no errors are recorded.
CREATE VIEW errors(
  process_id,              -- joins processes
  kind,                    -- 'double_free': a block at this address was freed before; 'invalid_free': there was none; 'unknown': one of the two, because freed blocks have no rows (--slim, --aggregate, elided blocks)
  call,                    -- 'free' (or delete), 'realloc'
  at_ns,                   -- time of the call
  address,                 -- address that the program passed
  offset_bytes,            -- offset from the start of the block; above 0: the address is inside a live block; NULL: no block is known
  size_bytes,              -- requested size of the block; NULL: no block is known
  alloc_ns,                -- when the block was allocated
  first_free_ns,           -- for a double_free: when the block was freed first
  thread_id,               -- thread that made the call; joins threads
  first_free_thread_id,    -- thread that freed the block first
  allocation_id,           -- the block; joins allocations; NULL: no block is known
  backtrace_id,            -- stack of this call; joins backtraces; NULL: not recorded
  alloc_backtrace_id,      -- stack of the allocation
  first_free_backtrace_id, -- stack of the first free; NULL: none, or not recorded
  function,                -- function of the call site of this call; NULL: unknown
  source,                  -- its source file; NULL: no debug information
  line,                    -- line in source
  module,                  -- file that holds the code; NULL: code outside any file
  call_site_id,            -- joins call_sites; NULL: the stack has no call site
  stack,                   -- stack of this call, as in stack_texts
  alloc_stack,             -- stack of the allocation, as in stack_texts
  first_free_stack         -- stack of the first free, as in stack_texts
) AS
WITH
  -- One scan of all blocks for all errors, and no scan without errors.
  found AS MATERIALIZED (
    SELECT u.unmatched_free_id, max(CASE WHEN a.address = u.address THEN a.allocation_id END) AS freed_id,
      max(CASE WHEN a.address < u.address THEN a.allocation_id END) AS live_id
    FROM allocation_rows AS a CROSS JOIN unmatched_frees AS u
    WHERE EXISTS (SELECT 1 FROM unmatched_frees)
      AND u.address BETWEEN a.address AND a.address + max(a.size_bytes + ifnull(a.slack_bytes, 0) - 1, 0)
      AND a.alloc_ns <= u.at_ns
      AND CASE WHEN a.address = u.address THEN a.alloc_ns + a.lifetime_ns <= u.at_ns ELSE ifnull(a.alloc_ns + a.lifetime_ns > u.at_ns, 1) END
      AND u.process_id = (SELECT t.process_id FROM threads AS t WHERE t.thread_id = a.thread_id)
    GROUP BY u.unmatched_free_id),
  lacks_rows(is_so) AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM meta WHERE key IN ('slim', 'aggregate') AND value = 1)
      OR EXISTS (SELECT 1 FROM backtrace_totals WHERE elided_blocks > 0))
SELECT u.process_id,
  CASE WHEN f.freed_id IS NOT NULL THEN 'double_free' WHEN f.live_id IS NULL AND (SELECT is_so FROM lacks_rows) THEN 'unknown' ELSE 'invalid_free' END,
  u.call, u.at_ns, u.address, u.address - a.address, a.size_bytes, a.alloc_ns, iif(f.freed_id IS NULL, NULL, a.free_ns),
  u.thread_id, iif(f.freed_id IS NULL, NULL, a.free_thread_id), a.allocation_id,
  u.backtrace_id, a.backtrace_id, iif(f.freed_id IS NULL, NULL, a.free_backtrace_id),
  s.function, s.source, s.line, s.module, b.call_site_id,
  (SELECT x.stack FROM stack_texts AS x WHERE x.backtrace_id = u.backtrace_id),
  (SELECT x.stack FROM stack_texts AS x WHERE x.backtrace_id = a.backtrace_id),
  (SELECT x.stack FROM stack_texts AS x WHERE x.backtrace_id = a.free_backtrace_id AND f.freed_id IS NOT NULL)
FROM unmatched_frees AS u
LEFT JOIN found AS f ON f.unmatched_free_id = u.unmatched_free_id
LEFT JOIN allocations AS a ON a.allocation_id = coalesce(f.freed_id, f.live_id)
LEFT JOIN backtraces AS b ON b.backtrace_id = u.backtrace_id
LEFT JOIN _sites AS s ON s.call_site_id = b.call_site_id
ORDER BY u.at_ns, u.process_id, u.unmatched_free_id;
