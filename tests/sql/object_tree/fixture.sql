-- Last walks only, by path.
.read objects.sql
