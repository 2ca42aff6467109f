-- SPDX-License-Identifier: MIT
-- sites: one row per call site with its names, for statements of your own.
CREATE VIEW sites(
  call_site_id,      -- joins backtraces and every report
  function,          -- demangled name; without symbols module+offset of the call; NULL: unknown
  source,            -- path as the debug information has it; NULL: none
  line,              -- line in source
  module             -- path of the file that holds the code; NULL: code outside any file
) AS
SELECT call_site_id, function, source, line, module
FROM _sites
ORDER BY call_site_id;
