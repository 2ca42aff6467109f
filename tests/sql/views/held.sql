-- The roots of the last image, the largest first.
.read code.sql
.read totals.sql
.read image.sql
-- expect
--|process_id,bytes,blocks,kind,symbol,offset_bytes,module,thread_id,root_id,image_id
--|1,250,2,global,g_sessions,8,/opt/server/bin/server,,2,2
--|1,40,1,stack,,512,,2,3,2
