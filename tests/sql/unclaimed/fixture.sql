-- Of last walks, largest first.
.read code.sql
.read objects.sql
INSERT INTO unclaimed_totals VALUES (1, 3, 9, 999), (2, 3, 1, 20), (2, 8, 1, 50);
