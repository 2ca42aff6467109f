# Filtered tables of groups, tags, phases, threads and flows count the selected blocks, moved ones included; they list all threads and
# phases.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
sqlite3 rows.db "INSERT INTO allocation_groups VALUES (0, 'untracked'), (1, 'root'), (2, 'request'), (3, 'request'), (4, 'it''s 1');
    INSERT INTO allocation_group_tags VALUES (2, 'tenant', 'acme'), (3, 'tenant', 'other'), (3, 'kind', 'read'), (2, 'kind', 'read');
    INSERT INTO group_rows VALUES (2, 2, NULL), (3, 3, NULL), (7, 1, 2), (8, 2, 1), (9, 4, 4), (14, 2, NULL), (15, 0, NULL);
    INSERT INTO group_moves VALUES (3, 1, 25000000, 2, 3);
    INSERT INTO phases (phase_id, process_id, depth, name, start_ns, end_ns, allocated_blocks, allocated_bytes, freed_blocks, freed_bytes,
        live_start_bytes, live_end_bytes, peak_bytes, leaked_blocks, leaked_bytes, first_allocation_id, last_allocation_id)
    SELECT value ->> 0, value ->> 1, 1, value ->> 2, value ->> 5, value ->> 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, value ->> 3, value ->> 4 FROM json_each(
        '[[1, 1, \"load\", 2, 6, 4000000, 45000000], [2, 1, \"load\", 4, 8, 15000000, 55000000], [3, 1, \"idle\", null, null, 56000000, 58000000],
          [4, 2, \"load\", 13, 14, 100000000, 115000000], [5, 1, \"load\", 11, 12, 75000000, null]]')"
ask() { echo "$*"; mtrace-query "$@" rows.db --csv --wide -n 0; }
ask by-group --size-min 0
ask by-group --tag kind=read
ask by-tag --lifetime only_leaked
ask phases --group request
ask phases --process 1 --size-max 100
ask threads --group request
ask flows --group root
ask flows --group root --fail-if "blocks > 1" || echo "$?"
mtrace-query by-group --size-min 0 rows.db
mtrace-query by-group --group 1 rows.db
mtrace-query by-tag --size-min 0 rows.db
mtrace-query by-group --group 3 --show-sql rows.db
# expect stdout
#|by-group --size-min 0
#|process_id,allocated_bytes,allocated_blocks,leaked_bytes,leaked_blocks,peak_bytes,peak_ns,freed_bytes,freed_blocks,freed_elsewhere_bytes,freed_elsewhere_blocks,moved_in_bytes,moved_out_bytes,group_id,name,tags,allocated_bytes_margin,leaked_bytes_margin,peak_bytes_margin
#|1,6370,8,5240,3,6040,70000000,1130,5,1000,1,0,0,1,root,,,,
#|1,258,3,200,1,250,10000000,8,1,8,1,0,50,2,request,"kind=read, tenant=acme",,,
#|1,0,0,50,1,50,25000000,0,0,0,0,50,0,3,request,"kind=read, tenant=other",,,
#|2,30,1,30,1,30,120000000,0,0,0,0,0,0,0,untracked,,,,
#|2,10,1,10,1,10,110000000,0,0,0,0,0,0,2,request,"kind=read, tenant=acme",,,
#|1,16,1,0,0,16,60000000,16,1,0,0,0,0,4,it's 1,,,,
#|2,10,1,0,0,10,100000000,10,1,0,0,0,0,1,root,,,,
#|by-group --tag kind=read
#|process_id,allocated_bytes,allocated_blocks,leaked_bytes,leaked_blocks,peak_bytes,peak_ns,freed_bytes,freed_blocks,freed_elsewhere_bytes,freed_elsewhere_blocks,moved_in_bytes,moved_out_bytes,group_id,name,tags,allocated_bytes_margin,leaked_bytes_margin,peak_bytes_margin
#|1,258,3,200,1,250,10000000,8,1,8,1,0,50,2,request,"kind=read, tenant=acme",,,
#|1,0,0,50,1,50,25000000,0,0,0,0,50,0,3,request,"kind=read, tenant=other",,,
#|2,10,1,10,1,10,110000000,0,0,0,0,0,0,2,request,"kind=read, tenant=acme",,,
#|by-tag --lifetime only_leaked
#|process_id,key,value,groups,allocated_bytes,allocated_blocks,leaked_bytes,leaked_blocks,peak_bytes,peak_ns,freed_bytes,freed_blocks,freed_elsewhere_bytes,freed_elsewhere_blocks,moved_in_bytes,moved_out_bytes,allocated_bytes_margin,leaked_bytes_margin,peak_bytes_margin
#|1,kind,read,2,250,2,250,2,250,10000000,0,0,0,0,50,50,,,
#|2,kind,read,1,10,1,10,1,10,110000000,0,0,0,0,0,0,,,
#|1,tenant,acme,1,250,2,200,1,250,10000000,0,0,0,0,0,50,,,
#|1,tenant,other,1,0,0,50,1,50,25000000,0,0,0,0,50,0,,,
#|2,tenant,acme,1,10,1,10,1,10,110000000,0,0,0,0,0,0,,,
#|phases --group request
#|phase_id,process_id,thread_id,parent_phase_id,depth,name,start_ns,end_ns,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,live_start_bytes,live_end_bytes,peak_bytes,leaked_blocks,leaked_bytes,first_allocation_id,last_allocation_id
#|1,1,,,1,load,4000000,45000000,2,250,0,0,0,250,250,2,250,2,6
#|2,1,,,1,load,15000000,55000000,1,8,1,8,250,250,258,0,0,4,8
#|3,1,,,1,idle,56000000,58000000,0,0,0,0,250,250,250,0,0,,
#|4,2,,,1,load,100000000,115000000,1,10,0,0,0,10,10,1,10,13,14
#|5,1,,,1,load,75000000,,0,0,0,0,250,250,250,0,0,11,12
#|phases --process 1 --size-max 100
#|phase_id,process_id,thread_id,parent_phase_id,depth,name,start_ns,end_ns,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,live_start_bytes,live_end_bytes,peak_bytes,leaked_blocks,leaked_bytes,first_allocation_id,last_allocation_id
#|1,1,,,1,load,4000000,45000000,4,120,3,130,100,90,100,2,90,2,6
#|2,1,,,1,load,15000000,55000000,4,78,3,38,50,90,98,1,40,4,8
#|3,1,,,1,idle,56000000,58000000,0,0,0,0,90,90,90,0,0,,
#|5,1,,,1,load,75000000,,1,0,2,16,106,90,106,0,0,11,12
#|threads --group request
#|thread_id,process_id,tid,name,start_ns,end_ns,allocated_blocks,allocated_bytes,freed_blocks,freed_bytes,leaked_blocks,leaked_bytes,peak_bytes,stack_address,stack_bytes
#|1,1,812,server,0,100000000000,3,258,1,8,2,250,258,,
#|2,1,820,pool,1000000000,90000000000,0,0,0,0,0,0,0,,
#|3,2,813,server,10000000000,30000000000,1,10,0,0,1,10,10,,
#|4,3,814,sh,40000000000,41000000000,0,0,0,0,0,0,0,,
#|flows --group root
#|process_id,blocks,bytes,thread_id,thread,free_thread_id,free_thread
#|1,1,1000,1,server,2,pool
#|1,2,100,1,server,1,server
#|1,2,30,2,pool,2,pool
#|2,1,10,3,server,3,server
#|flows --group root --fail-if blocks > 1
#|process_id,blocks,bytes,thread_id,thread,free_thread_id,free_thread
#|1,2,100,1,server,1,server
#|1,2,30,2,pool,2,pool
#|3
#|process  allocated   leaked     peak  freed elsewhere  moved in  name       tags
#|      1    6.2 KiB  5.1 KiB  5.9 KiB           1000 B       0 B  root       -
#|      1      258 B    200 B    250 B              8 B       0 B  request    kind=read, tenant=acme
#|      1        0 B     50 B     50 B              0 B      50 B  request    kind=read, tenant=other
#|      2       30 B     30 B     30 B              0 B       0 B  untracked  -
#|      2       10 B     10 B     10 B              0 B       0 B  request    kind=read, tenant=acme
#|      1       16 B      0 B     16 B              0 B       0 B  it's 1     -
#|      2       10 B      0 B     10 B              0 B       0 B  root       -
#|3 more columns: --wide
#|next: mtrace-query groups rows.db --group 1
#|                    allocated           leaked               freed
#|process  allocated     blocks   leaked  blocks     peak  elsewhere  group  name  tags
#|      1    6.2 KiB          8  5.1 KiB       3  5.9 KiB     1000 B      1  root     -
#|      2       10 B          1      0 B       0     10 B        0 B      1  root     -
#|next: mtrace-query groups rows.db --group 1
#|process  key     value  groups  allocated  allocated blocks  leaked  leaked blocks   peak  moved in
#|      1  kind    read        2      258 B                 3   250 B              2  258 B      50 B
#|      2  kind    read        1       10 B                 1    10 B              1   10 B       0 B
#|      1  tenant  acme        1      258 B                 3   200 B              1  250 B       0 B
#|      1  tenant  other       1        0 B                 0    50 B              1   50 B      50 B
#|      2  tenant  acme        1       10 B                 1    10 B              1   10 B       0 B
#|next: mtrace-query groups rows.db --tag kind=read
#|-- What the table below is made of:
#|SELECT a.thread_id, a.backtrace_id, a.size_bytes, a.alloc_ns, a.lifetime_ns, a.ended_by, a.slack_bytes, a.intervening_allocations, a.free_backtrace_id FROM allocation_rows AS a WHERE 1 AND (a.allocation_id IN (SELECT r.allocation_id FROM group_rows AS r WHERE r.group_id IN (SELECT group_id FROM allocation_groups WHERE '3' IN (group_id || '', name))));
#|SELECT * FROM by_group WHERE 1 LIMIT 21 OFFSET 0;
