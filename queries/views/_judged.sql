-- SPDX-License-Identifier: MIT
-- _judged: one row per process: the time whose leaks are shown. `leaks --at` puts a table of its own in its place.
CREATE VIEW _judged(
  process_id,        -- joins processes
  start_ns,          -- of the process
  end_ns             -- of it, or the instant that is asked for
) AS
SELECT process_id, start_ns, end_ns FROM processes;
