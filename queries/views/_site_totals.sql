-- SPDX-License-Identifier: MIT
-- _site_totals: one row per call site of a process: the sums of its stacks, which fill site_totals.
CREATE VIEW _site_totals(
  process_id,        -- joins processes
  call_site_id,      -- joins call_sites; NULL: stacks without a call site
  stacks,            -- distinct stacks that allocated
  complete_blocks,   -- blocks whose stack is complete
  allocated_blocks,  -- this and all below: as in backtrace_totals
  allocated_bytes,   -- requested bytes
  freed_blocks,      -- freed blocks
  freed_bytes,       -- their requested bytes
  leaked_blocks,     -- never freed
  leaked_bytes,      -- their requested bytes
  temporary_blocks,  -- freed right after their allocation
  temporary_bytes,   -- their requested bytes
  peak_blocks,       -- live at the peak of the process
  peak_bytes,        -- their requested bytes
  own_peak_bytes,    -- sum of the own peaks of the stacks, which need not occur at the same time
  slack_bytes,       -- usable minus requested
  lifetime_sum_ns,   -- of freed blocks
  realloc_count,     -- blocks allocated by realloc of another
  realloc_copied_bytes, -- bytes of these that were moved
  elided_blocks,     -- logged only as counts
  elided_bytes,      -- their requested bytes
  allocated_blocks_margin, -- half of the width of the 95 % interval of allocated_blocks; NULL: it is exact
  allocated_bytes_margin, -- the same of allocated_bytes
  leaked_blocks_margin, -- the same of leaked_blocks
  leaked_bytes_margin, -- the same of leaked_bytes
  peak_blocks_margin, -- the same of peak_blocks
  peak_bytes_margin  -- the same of peak_bytes
) AS
SELECT t.process_id, b.call_site_id, sum(t.allocated_blocks > 0),
  sum(t.allocated_blocks) FILTER (WHERE b.status = 'complete'), sum(t.allocated_blocks), sum(t.allocated_bytes),
  sum(t.freed_blocks), sum(t.freed_bytes), sum(t.leaked_blocks), sum(t.leaked_bytes), sum(t.temporary_blocks),
  sum(t.temporary_bytes), sum(t.peak_blocks), sum(t.peak_bytes), sum(t.own_peak_bytes), sum(t.slack_bytes),
  sum(t.lifetime_sum_ns), sum(t.realloc_count), sum(t.realloc_copied_bytes), sum(t.elided_blocks), sum(t.elided_bytes),
  sqrt(sum(t.allocated_blocks_margin * t.allocated_blocks_margin)), sqrt(sum(t.allocated_bytes_margin * t.allocated_bytes_margin)),
  sqrt(sum(t.leaked_blocks_margin * t.leaked_blocks_margin)), sqrt(sum(t.leaked_bytes_margin * t.leaked_bytes_margin)),
  sqrt(sum(t.peak_blocks_margin * t.peak_blocks_margin)), sqrt(sum(t.peak_bytes_margin * t.peak_bytes_margin))
FROM backtrace_totals AS t JOIN backtraces AS b ON b.backtrace_id = t.backtrace_id
GROUP BY t.process_id, b.call_site_id;
