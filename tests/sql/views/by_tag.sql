-- Key by key; groups are counted by process, where they were charged anything.
.read code.sql
INSERT INTO allocation_groups VALUES (1, 'root'), (2, 'request'), (3, 'request'), (4, 'idle');
INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme'), (3, 'tenant', 'acme'), (4, 'tenant', 'acme'), (3, 'tenant', 'other'), (2, 'kind', 'read');
INSERT INTO group_totals (process_id, group_id, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, freed_elsewhere_blocks,
  freed_elsewhere_bytes, moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes, leaked_blocks, leaked_bytes, peak_bytes, peak_ns)
  VALUES (1, 2, 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 10, 10, 5), (1, 3, 2, 30, 2, 30, 1, 20, 0, 0, 0, 0, 0, 0, 30, 6), (2, 3, 1, 7, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8);
INSERT INTO tag_totals(process_id, key, value, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes, freed_elsewhere_blocks, freed_elsewhere_bytes, moved_in_blocks, moved_in_bytes, moved_out_blocks, moved_out_bytes, leaked_blocks, leaked_bytes, peak_bytes, peak_ns) VALUES
  (1, 'tenant', 'acme', 3, 40, 2, 30, 1, 20, 0, 0, 0, 0, 1, 10, 35, 6),
  (1, 'tenant', 'other', 2, 30, 2, 30, 1, 20, 0, 0, 0, 0, 0, 0, 30, 6),
  (1, 'kind', 'read', 1, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 10, 10, 5),
  (2, 'tenant', 'acme', 1, 7, 1, 7, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8);
-- expect
--|process_id,key,value,groups,allocated_bytes,allocated_blocks,leaked_bytes,leaked_blocks,peak_bytes,peak_ns,freed_bytes,freed_blocks,freed_elsewhere_bytes,freed_elsewhere_blocks,moved_in_bytes,moved_out_bytes,allocated_bytes_margin,leaked_bytes_margin,peak_bytes_margin
--|1,kind,read,1,10,1,10,1,10,5,0,0,0,0,0,0,,,
--|1,tenant,acme,2,40,3,10,1,35,6,30,2,20,1,0,0,,,
--|1,tenant,other,1,30,2,0,0,30,6,30,2,20,1,0,0,,,
--|2,tenant,acme,1,7,1,0,0,7,8,7,1,0,0,0,0,,,
