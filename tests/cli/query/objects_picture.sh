# The tree of a walk as a picture: its latest walk, its boxes as wide as their bytes; names of a program stay text.
. "$CASES/../fixture.sh"
make_fixture tree.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql" "$source/tests/sql/objects.sql"
mtrace-query objects tree.db
mtrace-query objects tree.db --process 1 -o objects.svg
sed '/^<script/,/<.script>$/d' objects.svg
sqlite3 tree.db "UPDATE object_nodes SET name = '</title><script>alert(1)</script>&', path = 'root;</title><script>alert(1)</script>&' WHERE path = 'root;v'"
mtrace-query objects tree.db --process 1 -o hostile.svg
grep -a -o '.*alert.*' hostile.svg
