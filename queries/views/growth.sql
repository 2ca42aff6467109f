-- SPDX-License-Identifier: MIT
-- growth: one row per call site whose live bytes keep rising from snapshot to snapshot.
--
-- The view lists call sites whose pattern is 'steady' or 'late' by the rule of the view leaks. Here, bytes came to stay if no later
-- snapshot falls below them. The rule uses the regular snapshots. None of these lies in the last 64th of the analysis range, so
-- blocks that are only freed at its end count as growth.
CREATE VIEW growth(
  process_id,        -- joins processes
  grown_bytes,       -- to_bytes - from_bytes
  bytes_per_s,       -- per second of recorded time, from one tenth to nine tenths of the growth; NULL: these times are less than a tenth of the analysis range apart, too close for a rate
  pattern,           -- 'steady' or 'late'
  since_ns,          -- when one tenth of the growth had come
  from_bytes,        -- live bytes at the first snapshot
  to_bytes,          -- live bytes at the last snapshot
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id,      -- joins call_sites; NULL: the stack has no call site
  grown_bytes_margin -- half of the width of the 95 % interval of grown_bytes; NULL: it is exact
) AS
SELECT g.process_id, g.to_bytes - g.from_bytes AS grown_bytes, CAST(g.bytes_per_s AS INTEGER), g.pattern, g.since_ns,
  g.from_bytes, g.to_bytes, s.function, s.source, s.line, s.module, g.call_site_id, g.grown_bytes_margin
FROM site_growth AS g
LEFT JOIN _sites AS s ON s.call_site_id = g.call_site_id
WHERE g.pattern IN ('steady', 'late')
ORDER BY grown_bytes DESC, g.process_id, g.call_site_id;
