-- The built-in rules need no data. Rules of the program go first; one that would match everything, and what is no rule, are left out.
.read code.sql
INSERT INTO meta VALUES
  ('suppression.0001', 'leak:plain'), ('suppression.0002', 'leak:^from*[a]?$'), ('suppression.0003', 'leak:**'),
  ('suppression.0004', 'leak:^'), ('suppression.0005', 'no rule'), ('suppression.0006', 'leak:to the end$ ');
