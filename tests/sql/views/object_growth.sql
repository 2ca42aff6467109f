-- What is only in one of the two counts whole; the root is as before, and has no row.
.read objects.sql
-- expect
--|process_id,growth_bytes,growth_objects,before_bytes,after_bytes,before_walk_id,walk_id,path
--|1,60,0,0,60,1,2,root;v;item;unused_capacity
--|1,-50,-1,50,0,1,2,root;gone
--|1,40,4,0,40,1,2,root;v;item
--|1,12,4,0,12,1,2,root;v;item;slack
--|1,8,1,0,8,1,2,root;v
