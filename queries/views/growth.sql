-- SPDX-License-Identifier: MIT
-- growth: one row per call site whose live bytes keep rising from snapshot to snapshot.
--
-- Listed are call sites whose pattern is 'steady' or 'late' by the rule of the view leaks: what came to stay is here what no later
-- snapshot falls below. Judged are the regular snapshots,
-- none of which lies in the last 64th of the time that is judged: what is freed only at its end has grown until then.
CREATE VIEW growth(
  process_id,        -- joins processes
  grown_bytes,       -- to_bytes - from_bytes
  bytes_per_s,       -- of recorded time, from the first to the ninth tenth of what came to stay; NULL: less than a tenth of the judged time lies between, which tells no rate
  pattern,           -- 'steady' or 'late'
  since_ns,          -- when the first tenth had come
  from_bytes,        -- live at the first snapshot
  to_bytes,          -- live at the last snapshot
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
