-- What is only in one of the two counts whole; the root is as before, and has no row.
.read objects.sql
