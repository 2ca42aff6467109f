-- SPDX-License-Identifier: MIT
-- mappings: one row per piece of address space whose coming and going was seen: what the program mapped, its libraries, its heaps.
--
-- 'mapping' rows are those of mmaps. A 'library' is a file of code (modules), from its first to its last byte and from when
-- its code was first on a stack; a 'heap' is what the allocator took by itself (heaps): one of another allocator than glibc
-- may lie in mappings that have rows of their own. Stacks of threads, which libc maps inside itself, are not seen; what is
-- resident of them is in rss_other_bytes of the summary.
CREATE VIEW mappings(
  process_id,        -- joins processes
  what,              -- 'mapping', 'library' or 'heap'
  address,           -- of its first byte; NULL: of an executable that is not relocated, and lies where it was linked
  length_bytes,      -- whole pages
  protection,        -- as 'rw-'; NULL: not known
  prot,              -- the same as PROT_* bits
  flag_names,        -- as 'private|anonymous'; NULL: not known
  flags,             -- the same as MAP_* bits
  mapped_ns,         -- when; of what was there before the recording, the start of the process
  unmapped_ns,       -- NULL: to the end of the process
  lifetime_ns,       -- from mapped_ns to its end, or that of the process
  peak_rss_bytes,    -- highest sample of what was resident; NULL: not sampled
  path,              -- of the file, or the name the kernel shows; of a heap its kind
  fd,                -- as passed; NULL: none, or not known
  file_offset,       -- bytes; NULL: not known
  thread_id,         -- that mapped it; NULL: not known
  backtrace_id,      -- where it was mapped; NULL: not by the program itself, or not known
  unmap_backtrace_id, -- where it was unmapped; NULL: it was not, or not known
  mmap_call_id,      -- joins mmaps; pieces of one call share it
  mmap_id            -- joins mmaps; NULL: no mapping of the program's own
) AS
WITH
  -- Bits of Linux's generic <sys/mman.h>, as on x86-64 and AArch64.
  bits(bit, name) AS (VALUES (0x1, 'shared'), (0x2, 'private'), (0x10, 'fixed'), (0x20, 'anonymous'), (0x100, 'growsdown'), (0x2000, 'locked'),
    (0x4000, 'noreserve'), (0x8000, 'populate'), (0x10000, 'nonblock'), (0x20000, 'stack'), (0x40000, 'hugetlb'), (0x80000, 'sync'),
    (0x100000, 'fixed_noreplace')),
  pieces AS (
    SELECT process_id, 'mapping' AS what, address, length, prot, flags, mapped_ns, unmapped_ns, peak_rss_bytes, path, fd, file_offset,
      thread_id, backtrace_id, unmap_backtrace_id, mmap_call_id, mmap_id
    FROM mmaps
    UNION ALL
    SELECT m.process_id, 'library', nullif(m.load_address, 0), m.size_bytes, NULL, NULL, coalesce(m.loaded_ns, p.start_ns), m.unloaded_ns, NULL,
      o.path, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM modules AS m JOIN processes AS p ON p.process_id = m.process_id JOIN objects AS o ON o.object_id = m.object_id
    UNION ALL
    SELECT h.process_id, 'heap', h.start_address, h.end_address - h.start_address, NULL, NULL,
      coalesce((SELECT min(e.at_ns) FROM heap_extents AS e WHERE e.heap_id = h.heap_id), p.start_ns), NULL, NULL, h.kind, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL
    FROM heaps AS h JOIN processes AS p ON p.process_id = h.process_id)
SELECT m.process_id, m.what, m.address, m.length,
  iif(m.prot & 1, 'r', '-') || iif(m.prot & 2, 'w', '-') || iif(m.prot & 4, 'x', '-') || iif(m.prot IS NULL, NULL, ''), m.prot,
  iif(m.flags IS NULL, NULL, (SELECT group_concat(b.name, '|') FROM bits AS b WHERE m.flags & b.bit)), m.flags, m.mapped_ns, m.unmapped_ns,
  coalesce(m.unmapped_ns, p.end_ns) - m.mapped_ns, m.peak_rss_bytes, m.path, m.fd, m.file_offset, m.thread_id, m.backtrace_id,
  m.unmap_backtrace_id, m.mmap_call_id, m.mmap_id
FROM pieces AS m
JOIN processes AS p ON p.process_id = m.process_id
ORDER BY m.process_id, m.what <> 'mapping', m.length DESC, m.mapped_ns, m.address, m.mmap_id;
