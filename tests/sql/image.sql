-- Heap images that fixtures share. Image 1 of process 1 is replaced by image 2, 95 ms after the start; process 2 has none.
--
-- In image 2 g_sessions + 8 holds block 2 (200 bytes, site 2), which holds block 3 (50 bytes, site 3). A stack of thread 2 holds
-- the inside of block 6 (40 bytes, site 5). Block 10 (5000 bytes, site 3) is lost, and only it leads to block 12 (200, site 2).
INSERT INTO heap_images VALUES (1, 1, 50000000, 'early', 'control', 'stop', 8000000, 2000000),
  (2, 1, 95000000, NULL, 'exit', 'stop', 9000000, 3000000);
INSERT INTO roots (root_id, image_id, kind, module, symbol, offset_bytes, thread_id, bytes, blocks) VALUES
  (1, 1, 'global', '/opt/server/bin/server', 'g_early', 0, NULL, 200, 1),
  (2, 2, 'global', '/opt/server/bin/server', 'g_sessions', 8, NULL, 250, 2),
  (3, 2, 'stack', NULL, NULL, 512, 2, 40, 1);
INSERT INTO heap_image_blocks (image_id, allocation_id, state_code, interior_only, root_id, holder_allocation_id, distance, dominator_allocation_id, retained_bytes) VALUES
  (1, 2, 2, 0, 1, NULL, 1, NULL, 200),
  (2, 2, 2, 0, 2, NULL, 1, NULL, 250), (2, 3, 2, 0, 2, 2, 2, 2, 50), (2, 6, 2, 1, 3, NULL, 1, NULL, 40),
  (2, 10, 0, 0, NULL, NULL, 0, NULL, 5200), (2, 12, 1, 0, NULL, 10, 1, NULL, NULL);
INSERT INTO heap_image_sites VALUES (1, 2, 0, 0, 0, 0, 200, 1), (2, 2, 0, 0, 0, 200, 200, 2), (2, 3, 5000, 1, 5200, 5000, 50, 2),
  (2, 5, 0, 0, 0, 0, 40, 3);
