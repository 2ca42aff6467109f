-- SPDX-License-Identifier: MIT
-- claimed_twice: one row per claim of a block that another object of the same walk had claimed before: two owners, one of which is wrong.
CREATE VIEW claimed_twice(
  process_id,        -- joins processes
  declared_bytes,    -- size that the second object declared
  address,           -- address of the block
  path,              -- path of the object that claimed it second
  first_path,        -- path of the object that claimed it first
  first_kind,        -- kind of the first claim: 'root', 'unique', 'shared'
  kind,              -- kind of the second claim
  allocation_id,     -- joins allocations; NULL: no block of malloc begins there
  walk_id            -- joins object_walks
) AS
SELECT w.process_id, c.declared_bytes, c.address, n.path, f.path, o.kind, c.kind, c.allocation_id, c.walk_id
FROM object_claims AS c
JOIN object_walks AS w ON w.walk_id = c.walk_id
JOIN object_nodes AS n ON n.walk_id = c.walk_id AND n.node_id = c.node_id
LEFT JOIN object_claims AS o ON o.walk_id = c.walk_id AND o.address = c.address AND NOT o.is_repeated
LEFT JOIN object_nodes AS f ON f.walk_id = o.walk_id AND f.node_id = o.node_id
WHERE c.is_repeated
ORDER BY c.walk_id, c.declared_bytes DESC, c.claim_id;
