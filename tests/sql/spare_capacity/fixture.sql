-- What elements use is what was declared without it; slack beside it.
.read objects.sql
