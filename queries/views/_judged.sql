-- SPDX-License-Identifier: MIT
-- _judged: one row per process: the time that is judged. `leaks --at`, and a range by `--from` and `--to`, put a table of its own in its place.
CREATE VIEW _judged(
  process_id,        -- joins processes
  start_ns,          -- of what was recorded of the process, or of the range
  end_ns             -- of it, or the instant or the end of the range that is asked for
) AS
SELECT process_id, start_ns, end_ns FROM _recorded;
