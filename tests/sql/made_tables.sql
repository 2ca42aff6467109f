-- What mtrace-import makes of other totals at its end, each table of the view of its name.
INSERT INTO site_totals SELECT * FROM _site_totals;
INSERT INTO site_frees SELECT * FROM _site_frees;
INSERT INTO suppressed_stacks SELECT * FROM _suppressed_stacks;
INSERT INTO snapshot_sites SELECT * FROM _snapshot_sites;
INSERT INTO site_leak_times SELECT * FROM _site_leak_times;
INSERT INTO site_shapes SELECT * FROM _site_shapes;
INSERT INTO site_leaks SELECT * FROM _site_leaks;
INSERT INTO site_growth SELECT * FROM _site_growth;
