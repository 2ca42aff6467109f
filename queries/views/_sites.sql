-- SPDX-License-Identifier: MIT
-- _sites: one row per call site with its names, for the views that end in a place in the code.
--
-- Older databases have no call_sites.object_offset: there that name is the one of the NULL beside.
CREATE VIEW _sites(
  call_site_id,      -- joins call_sites
  function,          -- demangled name; without symbols module+offset of the call; NULL: unknown
  source,            -- path as the debug information has it
  line,              -- line in source
  module,            -- path of the file that holds the code
  label              -- what a person reads: function source:line, or the module
) AS
SELECT c.call_site_id,
  coalesce(f.name, (SELECT replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '') || printf('+0x%x', object_offset)
    FROM call_sites AS i WHERE i.call_site_id = c.call_site_id AND object_offset IS NOT NULL)),
  s.path, c.line, o.path, coalesce(f.name || coalesce(' ' || s.path || coalesce(':' || c.line, ''), ''), o.path)
FROM call_sites AS c
CROSS JOIN (SELECT NULL AS object_offset) AS unknown
LEFT JOIN functions AS f ON f.function_id = c.function_id
LEFT JOIN sources AS s ON s.source_id = c.source_id
LEFT JOIN objects AS o ON o.object_id = c.object_id;
