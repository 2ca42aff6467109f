-- Blocks of the last image that no other block dominates: block 3 is part of block 2, and block 10 is lost.
.read code.sql
.read totals.sql
.read image.sql
INSERT INTO packed_allocation_rows(alloc_ns, address, size_bytes, backtrace_id, traits, allocation_id) VALUES
  (10, 0x2000, 200, 4, 0, 2), (20, 0x3000, 50, 6, 0, 3), (30, 0x6000, 40, 7, 0, 6), (40, 0xa000, 5000, 6, 0, 10);
-- expect
--|process_id,retained_bytes,size_bytes,address,kind,symbol,function,source,line,module,call_site_id,allocation_id,image_id
--|1,250,200,8192,global,g_sessions,"Session::clone(int) const",/opt/server/src/session.c,88,/opt/server/bin/server,2,2,2
--|1,40,40,24576,stack,,Session::close,/opt/server/src/session.c,140,/opt/server/bin/server,4,6,2
