. "$CASES/../fixture.sh"
mtrace-query lines session.c run.db
mtrace-query lines src/main.c run.db --measure leaked --format csv
# The source is found under the name that was asked for.
seq 100 | sed 's/^/int line_/' > session.c
sed -i '88s/.*/\tclone(\x1b[31m);/' session.c
mtrace-query lines session.c run.db
mtrace-query lines session.c run.db --by blocks
mtrace-query lines session.c run.db --sort-by total_bytes
