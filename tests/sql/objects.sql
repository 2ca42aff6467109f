-- Two walks of one process, and one that the recording ends in.
INSERT INTO object_walks VALUES (1, 1, 1, 5, 'early', 3, 100, 2, 60, 0, 1), (2, 1, 1, 9, 'late', 5, 200, 3, 130, 1, 1), (3, 2, NULL, 7, 'child', 1, 10, 0, 0, 0, 0);
INSERT INTO object_nodes VALUES
  (1, 1, NULL, 'root', 'root', 'block', 1, 10, 60), (1, 2, 1, 'root;gone', 'gone', 'pointer', 1, 50, 50),
  (2, 1, NULL, 'root', 'root', 'block', 1, 10, 130), (2, 2, 1, 'root;v', 'v', 'pointer', 1, 8, 120), (2, 3, 2, 'root;v;item', 'item', 'block', 4, 40, 112),
  (2, 4, 3, 'root;v;item;unused_capacity', 'unused_capacity', 'unused_capacity', 0, 60, 60), (2, 5, 3, 'root;v;item;slack', 'slack', 'slack', 4, 12, 12);
INSERT INTO object_claims VALUES
  (1, 1, 1, 'root', 4096, 10, NULL, NULL, NULL, 0),
  (2, 1, 1, 'root', 4096, 10, NULL, NULL, NULL, 0), (2, 2, 3, 'unique', 8192, 100, 112, 7, NULL, 0), (2, 3, 1, 'shared', 8192, 90, 112, 7, NULL, 1);
