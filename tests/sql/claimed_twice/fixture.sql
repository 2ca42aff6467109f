-- The second owner, and the first.
.read objects.sql
