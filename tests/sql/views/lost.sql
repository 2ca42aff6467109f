-- Of the last image of each process: block 10, with block 12 behind it. Image 1 does not count.
.read code.sql
.read totals.sql
.read image.sql
-- expect
--|process_id,retained_bytes,bytes,blocks,function,source,line,module,call_site_id,image_id
--|1,5200,5000,1,Cache::reserve,/opt/server/src/cache.c,31,/opt/server/bin/server,3,2
