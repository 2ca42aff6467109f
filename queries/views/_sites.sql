-- SPDX-License-Identifier: MIT
-- _sites: one row per call site with its names, for views that end in a place in the code.
--
-- It uses subqueries, not joins. If a view of several tables is on the right of a LEFT JOIN, SQLite first makes a table of all
-- call sites.
CREATE VIEW _sites(
  call_site_id,      -- joins call_sites
  function,          -- demangled name; without symbols module+offset of the call (module address, if the recording came with names); NULL: unknown
  source,            -- path as the debug information has it
  line,              -- line in source
  module,            -- path of the file that holds the code
  label              -- text for reports: function source:line, or the module
) AS
SELECT c.call_site_id,
  coalesce((SELECT f.name FROM functions AS f WHERE f.function_id = c.function_id),
    CASE WHEN c.object_offset IS NOT NULL THEN (SELECT replace(o.path, rtrim(o.path, replace(o.path, '/', '')), '')
      || printf(iif((SELECT value FROM meta WHERE key = 'names') IS 'recording', ' 0x%x', '+0x%x'), c.object_offset) FROM objects AS o WHERE o.object_id = c.object_id) END),
  (SELECT s.path FROM sources AS s WHERE s.source_id = c.source_id),
  c.line,
  (SELECT o.path FROM objects AS o WHERE o.object_id = c.object_id),
  coalesce((SELECT f.name FROM functions AS f WHERE f.function_id = c.function_id)
    || coalesce((SELECT ' ' || s.path || coalesce(':' || c.line, '') FROM sources AS s WHERE s.source_id = c.source_id), ''),
    (SELECT o.path FROM objects AS o WHERE o.object_id = c.object_id))
FROM call_sites AS c;
