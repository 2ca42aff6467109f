-- SPDX-License-Identifier: MIT
-- mappings: one row per piece of address space that was seen: mappings of the program, libraries, thread stacks and heaps.
--
-- 'mapping' rows are those of mmaps. The others are mapped inside libc and ld.so, where calls are not recorded. The time of such a
-- mapping is not known, only a time when it existed (seen_ns).
-- 'library': a file of code (modules), from its first to its last byte, seen when its code was first on a stack.
-- 'stack': the stack of a thread while the thread lives (libc may keep it for the next one); for the first thread, up to the size to
-- which it may grow.
-- 'heap': memory that the allocator took by itself (heaps), up to the highest end it ever had. A heap of another allocator than
-- glibc may lie in mappings that have rows of their own.
CREATE VIEW mappings(
  process_id,        -- joins processes
  what,              -- 'mapping', 'library', 'stack' or 'heap'
  address,           -- address of its first byte; NULL: an executable that is not relocated and lies where it was linked
  length_bytes,      -- whole pages
  protection,        -- for example 'rw-', as it was mapped; later changes by mprotect are not recorded; NULL: not known
  prot,              -- the same as PROT_* bits
  flag_names,        -- for example 'private|anonymous'; NULL: not known
  flags,             -- the same as MAP_* bits
  mapped_ns,         -- time of the mapping call; if mapped before the recording, the start of the process; NULL: not mapped by the program itself
  seen_ns,           -- since when it is known to exist: mapped_ns, or later
  unmapped_ns,       -- NULL: mapped to the end of the process
  lifetime_ns,       -- from seen_ns to its end, or to the end of the process; the true lifetime may be longer
  peak_rss_bytes,    -- highest sample of its resident bytes; NULL: not sampled
  peak_rss_ns,       -- time of the last sample with that many; NULL: not sampled
  path,              -- path of the file, or the name that the kernel shows; for a heap its kind; for a stack the name of its thread
  fd,                -- as passed; NULL: none, or not known
  file_offset,       -- bytes; NULL: not known
  thread_id,         -- thread that mapped it, or thread of the stack; NULL: not known
  backtrace_id,      -- stack of the mapping call; NULL: not mapped by the program itself, or not known
  unmap_backtrace_id, -- stack of the unmapping call; NULL: not unmapped, or not known
  mmap_call_id,      -- joins mmaps; pieces of one call share it
  mmap_id            -- joins mmaps; NULL: not mapped by the program itself
) AS
WITH
  -- Bits of Linux's generic <sys/mman.h>, as on x86-64 and AArch64.
  bits(bit, name) AS (VALUES (0x1, 'shared'), (0x2, 'private'), (0x10, 'fixed'), (0x20, 'anonymous'), (0x100, 'growsdown'), (0x2000, 'locked'),
    (0x4000, 'noreserve'), (0x8000, 'populate'), (0x10000, 'nonblock'), (0x20000, 'stack'), (0x40000, 'hugetlb'), (0x80000, 'sync'),
    (0x100000, 'fixed_noreplace')),
  pieces AS (
    SELECT process_id, 'mapping' AS what, address, length, prot, flags, mapped_ns, mapped_ns AS seen_ns, unmapped_ns, peak_rss_bytes, peak_rss_ns, path, fd, file_offset,
      thread_id, backtrace_id, unmap_backtrace_id, mmap_call_id, mmap_id
    FROM mmaps
    UNION ALL
    SELECT m.process_id, 'library', nullif(m.load_address, 0), m.size_bytes, NULL, NULL, NULL, m.seen_ns, m.unloaded_ns, NULL, NULL,
      coalesce(m.mapped_path, o.path), NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM modules AS m JOIN objects AS o ON o.object_id = m.object_id
    UNION ALL
    SELECT t.process_id, 'stack', t.stack_address, t.stack_bytes, NULL, NULL, NULL, t.start_ns, t.end_ns, NULL, NULL, t.name, NULL, NULL,
      t.thread_id, NULL, NULL, NULL, NULL
    FROM threads AS t WHERE t.stack_bytes > 0
    UNION ALL
    SELECT h.process_id, 'heap', h.start_address, h.end_address - h.start_address, NULL, NULL, NULL,
      (SELECT min(e.at_ns) FROM heap_extents AS e WHERE e.heap_id = h.heap_id), NULL, NULL, NULL, h.kind, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL
    FROM heaps AS h)
SELECT m.process_id, m.what, m.address, m.length,
  iif(m.prot & 1, 'r', '-') || iif(m.prot & 2, 'w', '-') || iif(m.prot & 4, 'x', '-') || iif(m.prot IS NULL, NULL, ''), m.prot,
  iif(m.flags IS NULL, NULL, (SELECT group_concat(b.name, '|') FROM bits AS b WHERE m.flags & b.bit)), m.flags, m.mapped_ns, m.seen_ns, m.unmapped_ns,
  coalesce(m.unmapped_ns, p.end_ns) - m.seen_ns, m.peak_rss_bytes, m.peak_rss_ns, m.path, m.fd, m.file_offset, m.thread_id, m.backtrace_id,
  m.unmap_backtrace_id, m.mmap_call_id, m.mmap_id
FROM pieces AS m
JOIN processes AS p ON p.process_id = m.process_id
ORDER BY m.process_id, m.what <> 'mapping', m.length DESC, m.seen_ns, m.address, m.mmap_id;
