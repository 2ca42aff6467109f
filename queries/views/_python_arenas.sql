-- SPDX-License-Identifier: MIT
-- _python_arenas: one row per process of CPython that has a large part of its memory in arenas: their bytes.
--
-- CPython keeps objects of at most 512 bytes in arenas, anonymous mappings of 1 MiB (before 3.10: 256 KiB) that it makes itself.
-- With PYTHONMALLOC=malloc it has none.
CREATE VIEW _python_arenas(
  process_id,        -- joins processes
  bytes              -- the most that was mapped at one time; at least a quarter of the peak of all blocks
) AS
WITH
  arenas AS (
    SELECT m.process_id, m.mapped_ns, m.unmapped_ns, m.length
    FROM mmaps AS m
    JOIN backtraces AS b ON b.backtrace_id = m.backtrace_id
    JOIN frames AS f ON f.frame_id = b.frame_id
    JOIN objects AS o ON o.object_id = f.object_id
    WHERE m.length IN (0x40000, 0x100000) AND m.fd IS NULL AND (o.path GLOB '*/python[23]*' OR o.path GLOB '*/libpython[23]*'
      OR EXISTS (SELECT 1 FROM frame_lines AS l JOIN functions AS g ON g.function_id = l.function_id
        WHERE l.frame_id = f.frame_id AND (g.raw_name GLOB '_PyObject_Arena*' OR g.raw_name GLOB '_PyMem_Arena*')))),
  changes AS (
    SELECT process_id, mapped_ns AS at_ns, length AS change FROM arenas
    UNION ALL
    SELECT process_id, unmapped_ns, -length FROM arenas WHERE unmapped_ns IS NOT NULL),
  levels AS (SELECT process_id, sum(change) OVER (PARTITION BY process_id ORDER BY at_ns) AS bytes FROM changes)
SELECT l.process_id, max(l.bytes)
FROM levels AS l
JOIN processes AS p ON p.process_id = l.process_id
GROUP BY l.process_id
HAVING 4 * max(l.bytes) >= p.peak_bytes
ORDER BY l.process_id;
