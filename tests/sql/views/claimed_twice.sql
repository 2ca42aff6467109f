-- The second owner, and the first.
.read objects.sql
-- expect
--|process_id,declared_bytes,address,path,first_path,first_kind,kind,allocation_id,walk_id
--|1,90,8192,root,root;v;item,unique,shared,7,2
