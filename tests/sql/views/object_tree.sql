-- Last walks only, by path.
.read objects.sql
-- expect
--|process_id,total_bytes,self_bytes,objects,kind,walk_id,node_id,path
--|1,130,10,1,block,2,1,root
--|1,120,8,1,pointer,2,2,root;v
--|1,112,40,4,block,2,3,root;v;item
--|1,12,12,4,slack,2,5,root;v;item;slack
--|1,60,60,0,unused_capacity,2,4,root;v;item;unused_capacity
