-- SPDX-License-Identifier: MIT
-- object_tree: one row per path in the tree of objects of a process's last walk (mtrace_objects.h); empty without walks.
--
-- Earlier walks are in object_nodes. Bytes are those of the real blocks: the sizes that objects declare, and slack and
-- malloc_overhead in addition.
CREATE VIEW object_tree(
  process_id,        -- joins processes
  total_bytes,       -- bytes of this path and of all paths below it
  self_bytes,        -- bytes of this path alone
  objects,           -- number of objects visited
  kind,              -- 'block', 'field', 'pointer', 'opaque', 'padding', 'unused_capacity', 'slack', 'malloc_overhead'; see object_nodes
  walk_id,           -- joins object_walks
  node_id,           -- joins object_nodes, object_claims
  path               -- names from the top with ; between them
) AS
SELECT w.process_id, n.total_bytes, n.self_bytes, n.objects, n.kind, n.walk_id, n.node_id, n.path
FROM object_walks AS w
JOIN object_nodes AS n ON n.walk_id = w.walk_id
WHERE w.walk_id IN (SELECT max(walk_id) FROM object_walks GROUP BY process_id)
ORDER BY n.walk_id, n.path;
