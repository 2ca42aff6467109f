-- SPDX-License-Identifier: MIT
-- _unjudged: one row per process that was recorded for less than half of the analysis range.
--
-- Events between its windows are unknown, so it has no pattern and no rate.
CREATE VIEW _unjudged(
  process_id         -- joins processes
) AS
SELECT j.process_id
FROM _judged AS j JOIN windows AS w ON w.process_id = j.process_id
GROUP BY j.process_id
HAVING 2 * sum(max(0, min(coalesce(w.end_ns, j.end_ns), j.end_ns) - max(w.start_ns, j.start_ns)) * w.recorded_share) < max(j.end_ns - j.start_ns);
