-- SPDX-License-Identifier: MIT
-- growth: one row per call site whose live bytes keep rising from snapshot to snapshot.
--
-- A straight line is laid through the live bytes of all snapshots of the process but its peak; a site is listed when there are at
-- least four of them, it changed in three or more, the line rises, and fit is 0.5 or more.
CREATE VIEW growth(
  process_id,        -- joins processes
  slope_bytes_per_s, -- slope of the line
  from_bytes,        -- live at the first snapshot
  to_bytes,          -- live at the last snapshot
  fit,               -- how well the line explains the changes (r squared), 0 to 1
  function,          -- function of the call site; NULL: unknown
  source,            -- its source file; NULL: no debug information
  line,              -- line in source
  module,            -- file that holds the code; NULL: code outside any file
  call_site_id       -- joins call_sites; NULL: the stack has no call site
) AS
SELECT g.process_id, round(g.slope_bytes_per_s, 3) AS slope, g.from_bytes, g.to_bytes, round(g.fit, 4),
  s.function, s.source, s.line, s.module, g.call_site_id
FROM site_growth AS g
LEFT JOIN _sites AS s ON s.call_site_id = g.call_site_id
WHERE g.snapshots >= 4 AND g.changes >= 3 AND g.slope_bytes_per_s > 0 AND g.fit >= 0.5 AND g.to_bytes > g.from_bytes
ORDER BY slope DESC, g.process_id, g.call_site_id;
