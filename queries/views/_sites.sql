-- SPDX-License-Identifier: MIT
-- _sites: one row per call site with its names, for the views that end in a place in the code.
--
CREATE VIEW _sites(
  call_site_id,      -- joins call_sites
  function,          -- demangled name; without symbols module+offset of the call (module address, if the recording came with names); NULL: unknown
  source,            -- path as the debug information has it
  line,              -- line in source
  module,            -- path of the file that holds the code
  label              -- what a person reads: function source:line, or the module
) AS
SELECT c.call_site_id,
  coalesce(f.name, CASE WHEN c.object_offset IS NOT NULL
    THEN replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '') || printf(iif((SELECT value FROM meta WHERE key = 'names') IS 'recording', ' 0x%x', '+0x%x'), c.object_offset) END),
  s.path, c.line, o.path, coalesce(f.name || coalesce(' ' || s.path || coalesce(':' || c.line, ''), ''), o.path)
FROM call_sites AS c
LEFT JOIN functions AS f ON f.function_id = c.function_id
LEFT JOIN sources AS s ON s.source_id = c.source_id
LEFT JOIN objects AS o ON o.object_id = c.object_id;
