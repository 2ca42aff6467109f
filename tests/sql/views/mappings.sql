-- Process 1 maps 8 KiB twice: once rw- private|anonymous, unmapped after 2 s, once r-x shared, to the end; of a third piece, mapped before
-- the recording, neither protection nor flags are known. Its library lies at 0x7000000, its executable is not relocated.
-- A thread's stack is known, and when it ended. Its heap begins at 1 s with 64 KiB and has 128 KiB from 5 s on. Process 2 has a mapping of all flags there are.
.read code.sql
INSERT INTO mmaps VALUES
  (1, 1, 1, 1, 4, 0x10000, 8192, 3, 0x22, NULL, 0, NULL, 1000000000, 3000000000, 1, 7, NULL, 4096, 2000000000),
  (2, 2, 1, 2, 6, 0x20000, 8192, 5, 0x1, 5, 4096, '/opt/server/data', 2000000000, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, 3, 1, NULL, NULL, 0x30000, 4096, NULL, NULL, NULL, 0, '[anon]', 0, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 4, 2, 3, 2, 0x40000, 1048576, 0, 0x1fe132, NULL, 0, NULL, 11000000000, 12000000000, NULL, NULL, NULL, 0, 11000000000);
UPDATE threads SET stack_address = 0x600000, stack_bytes = 8192, start_ns = 1500000000, end_ns = 2500000000 WHERE thread_id = 2;
INSERT INTO modules VALUES (1, 1, 2, 0, 50000, 9, NULL, NULL), (2, 1, 3, 0x7000000, 20000, 4000000000, 6000000000, NULL);
INSERT INTO heaps VALUES (1, 1, 'brk', 0x50000, 0x70000, 0x50010, 'glibc', 8, NULL);
INSERT INTO heap_extents VALUES (1, 1000000000, 0x60000), (1, 5000000000, 0x70000);
-- expect
--|process_id,what,address,length_bytes,protection,prot,flag_names,flags,mapped_ns,seen_ns,unmapped_ns,lifetime_ns,peak_rss_bytes,peak_rss_ns,path,fd,file_offset,thread_id,backtrace_id,unmap_backtrace_id,mmap_call_id,mmap_id
--|1,mapping,65536,8192,rw-,3,private|anonymous,34,1000000000,1000000000,3000000000,2000000000,4096,2000000000,,,0,1,4,7,1,1
--|1,mapping,131072,8192,r-x,5,shared,1,2000000000,2000000000,,98000000000,,,/opt/server/data,5,4096,2,6,,2,2
--|1,mapping,196608,4096,,,,,0,0,,100000000000,,,[anon],,0,,,,3,3
--|1,heap,327680,131072,,,,,,1000000000,,99000000000,,,brk,,,,,,,
--|1,library,,50000,,,,,,9,,99999999991,,,/opt/server/bin/server,,,,,,,
--|1,library,117440512,20000,,,,,,4000000000,6000000000,2000000000,,,/opt/server/lib/libwork.so,,,,,,,
--|1,stack,6291456,8192,,,,,,1500000000,2500000000,1000000000,,,pool,,,2,,,,
--|2,mapping,262144,1048576,---,0,private|fixed|anonymous|growsdown|locked|noreserve|populate|nonblock|stack|hugetlb|sync|fixed_noreplace,2089266,11000000000,11000000000,12000000000,1000000000,0,11000000000,,,0,3,2,,4,4
