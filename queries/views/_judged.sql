-- SPDX-License-Identifier: MIT
-- _judged: one row per process: the analysis range. `leaks --at`, and a range by `--from` and `--to`, replace this view by a table.
CREATE VIEW _judged(
  process_id,        -- joins processes
  start_ns,          -- start of the recorded time of the process, or of the range
  end_ns             -- end of that time, or the requested time, or end of the range
) AS
SELECT process_id, start_ns, end_ns FROM _recorded;
