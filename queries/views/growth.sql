-- SPDX-License-Identifier: MIT
-- growth: one row per call site whose live bytes rose from the first snapshot to the last; those that keep rising weigh more.
--
-- The patterns are those of the view leaks: 'steady' and 'late' keep rising. Here, bytes came to stay if no later snapshot falls
-- below them. The rule uses the regular snapshots until the program begins its teardown (_growth_range). None of these lies in the
-- last 64th of the analysis range, so blocks that are only freed at its end count as growth.
-- Rows are sorted by weight: grown_bytes times 64 if the growth continues.
CREATE VIEW growth(
  process_id,        -- joins processes
  grown_bytes,       -- to_bytes - from_bytes
  bytes_per_s,       -- per second of recorded time, from one tenth to nine tenths of the growth; NULL: these times are less than a tenth of the analysis range apart, too close for a rate
  pattern,           -- 'steady', 'late', 'burst', 'plateau' or 'saw tooth'
  since_ns,          -- when one tenth of the growth had come
  from_bytes,        -- live bytes at the first snapshot
  to_bytes,          -- live bytes at the last snapshot
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  grown_bytes_margin, -- half of the width of the 95 % interval of grown_bytes; NULL: it is exact
  weight             -- sort key of the rows
) AS
SELECT g.process_id, g.to_bytes - g.from_bytes AS grown_bytes, round(g.bytes_per_s, 3), g.pattern, g.since_ns,
  g.from_bytes, g.to_bytes, s.function, s.source, s.line, s.module, g.call_site_id, g.grown_bytes_margin,
  (g.to_bytes - g.from_bytes) * CASE WHEN g.pattern IN ('steady', 'late') THEN 64 ELSE 1 END AS weight
FROM site_growth AS g
LEFT JOIN _sites AS s ON s.call_site_id = g.call_site_id
WHERE g.pattern IS NOT NULL AND g.to_bytes > g.from_bytes
ORDER BY weight DESC, grown_bytes DESC, g.process_id, g.call_site_id;
