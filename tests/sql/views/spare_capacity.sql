-- What elements use is what was declared without it; slack beside it.
.read objects.sql
-- expect
--|process_id,unused_bytes,used_bytes,share_unused,slack_bytes,walk_id,path
--|1,60,40,0.6,12,2,root;v;item
