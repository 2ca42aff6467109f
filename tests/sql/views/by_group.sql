-- By what they were charged; a group without tags has none, one that was only moved to has no allocations, one that the log lost no name.
.read code.sql
INSERT INTO allocation_groups VALUES (0, 'untracked'), (1, 'root'), (2, 'request'), (3, 'cache');
INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme'), (2, 'kind', 'read');
INSERT INTO group_totals(process_id, group_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, freed_elsewhere_blocks, freed_elsewhere_bytes, moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes, leaked_blocks, leaked_bytes, peak_bytes, peak_ns) VALUES
  (1, 1, 10, 1000, 4, 400, 1, 100, 0, 0, 0, 0, 6, 600, 700, 50),
  (1, 2, 20, 9000, 19, 8900, 5, 500, 0, 0, 1, 77, 0, 0, 8000, 60),
  (1, 3, 0, 0, 0, 0, 0, 0, 1, 77, 0, 0, 1, 77, 77, 70),
  (2, 9, 5, 1000, 5, 1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
-- expect
--|process_id,allocated_bytes,allocated_blocks,leaked_bytes,leaked_blocks,peak_bytes,peak_ns,freed_bytes,freed_blocks,freed_elsewhere_bytes,freed_elsewhere_blocks,moved_in_bytes,moved_out_bytes,group_id,name,tags,allocated_bytes_margin,leaked_bytes_margin,peak_bytes_margin
--|1,1000,10,600,6,700,50,400,4,100,1,0,0,1,root,,,,
--|1,0,0,77,1,77,70,0,0,0,0,77,0,3,cache,,,,
--|1,9000,20,0,0,8000,60,8900,19,500,5,0,77,2,request,"kind=read, tenant=acme",,,
--|2,1000,5,0,0,0,,1000,5,0,0,0,0,9,,,,,
