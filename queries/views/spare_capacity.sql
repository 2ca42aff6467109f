-- SPDX-License-Identifier: MIT
-- spare_capacity: one row per container of a walk with capacity that no element uses, largest first.
CREATE VIEW spare_capacity(
  process_id,        -- joins processes
  unused_bytes,      -- bytes of the capacity without an element
  used_bytes,        -- bytes of the capacity with an element, without memory that elements own
  share_unused,      -- unused share of the capacity, 0 to 1
  slack_bytes,       -- requested in addition to the capacity, but not declared by any object
  walk_id,           -- joins object_walks
  path               -- path of the container's blocks
) AS
SELECT w.process_id, u.self_bytes, coalesce(c.declared_bytes - u.self_bytes, 0), 1.0 * u.self_bytes / nullif(c.declared_bytes, 0),
       coalesce(c.size_bytes - c.declared_bytes, 0), u.walk_id, n.path
FROM object_nodes AS u
JOIN object_walks AS w ON w.walk_id = u.walk_id
JOIN object_nodes AS n ON n.walk_id = u.walk_id AND n.node_id = u.parent_node_id
LEFT JOIN (SELECT walk_id, node_id, sum(declared_bytes) AS declared_bytes, sum(coalesce(size_bytes, declared_bytes)) AS size_bytes
           FROM object_claims WHERE NOT is_repeated GROUP BY walk_id, node_id) AS c ON c.walk_id = n.walk_id AND c.node_id = n.node_id
WHERE u.kind = 'unused_capacity'
ORDER BY u.walk_id DESC, u.self_bytes DESC, n.path;
