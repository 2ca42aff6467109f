-- SPDX-License-Identifier: MIT
-- object_tree: one row per path in the tree of objects of a process's last walk (mtrace_objects.h); empty without any.
--
-- Earlier walks are in object_nodes. Bytes are of the real blocks: what objects declare, and slack and malloc_overhead beside it.
CREATE VIEW object_tree(
  process_id,        -- joins processes
  total_bytes,       -- with all that is below it
  self_bytes,        -- without
  objects,           -- visited
  kind,              -- 'block', 'field', 'pointer', 'opaque', 'padding', 'unused_capacity', 'slack', 'malloc_overhead'; see object_nodes
  walk_id,           -- joins object_walks
  node_id,           -- joins object_nodes, object_claims
  path               -- names from the top, with ; between
) AS
SELECT w.process_id, n.total_bytes, n.self_bytes, n.objects, n.kind, n.walk_id, n.node_id, n.path
FROM object_walks AS w
JOIN object_nodes AS n ON n.walk_id = w.walk_id
WHERE w.walk_id IN (SELECT max(walk_id) FROM object_walks GROUP BY process_id)
ORDER BY n.walk_id, n.path;
