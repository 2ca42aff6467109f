-- SPDX-License-Identifier: MIT
-- object_growth: one row per path whose own bytes differ between a walk and the one before it in the same process, latest walk first.
CREATE VIEW object_growth(
  process_id,        -- joins processes
  growth_bytes,      -- change of its own bytes; negative: it shrank
  growth_objects,    -- change of the number of visited objects
  before_bytes,      -- own bytes in the earlier walk; 0: the path did not exist
  after_bytes,       -- own bytes in the later walk
  before_walk_id,    -- earlier walk; joins object_walks
  walk_id,           -- later walk; joins object_walks
  path               -- names from the top with ; between them
) AS
WITH
  pairs AS (SELECT process_id, walk_id, lag(walk_id) OVER (PARTITION BY process_id ORDER BY walk_id) AS before_id FROM object_walks),
  sides AS (
    SELECT p.process_id, p.before_id, p.walk_id, n.path, 0 AS before_bytes, n.self_bytes AS after_bytes, n.objects
    FROM pairs AS p JOIN object_nodes AS n ON n.walk_id = p.walk_id WHERE p.before_id IS NOT NULL
    UNION ALL
    SELECT p.process_id, p.before_id, p.walk_id, n.path, n.self_bytes, 0, -n.objects
    FROM pairs AS p JOIN object_nodes AS n ON n.walk_id = p.before_id)
SELECT process_id, sum(after_bytes) - sum(before_bytes), sum(objects), sum(before_bytes), sum(after_bytes), before_id, walk_id, path
FROM sides
GROUP BY walk_id, path
HAVING sum(after_bytes) <> sum(before_bytes)
ORDER BY walk_id DESC, abs(sum(after_bytes) - sum(before_bytes)) DESC, path;
