-- The built-in rules need no data.
.read code.sql
