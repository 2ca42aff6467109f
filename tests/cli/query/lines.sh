. "$CASES/../fixture.sh"
mtrace-query lines session.c run.db
mtrace-query lines src/main.c run.db --measure leaked --format csv
# The source file is found under the requested name.
seq 100 | sed 's/^/int line_/' > session.c
sed -i '88s/.*/\tclone(\x1b[31m);/' session.c
mtrace-query lines session.c run.db
mtrace-query lines session.c run.db --by blocks
mtrace-query lines session.c run.db --sort-by total_bytes
# expect stdout
#|  own  own blocks  total  total blocks  source     line
#|600 B           6  600 B             6  session.c    88
#|own_bytes,own_blocks,total_bytes,total_blocks,source,line
#|20,2,4820,11,/opt/server/src/main.c,10
#|0,0,100,1,/opt/server/src/main.c,12
#|/opt/server/src/session.c: live at the peak
#|       own      total   line
#|
#|                          85  int line_85
#|                          86  int line_86
#|                          87  int line_87
#|     600 B      600 B     88  	clone(?[31m);
#|                          89  int line_89
#|                          90  int line_90
#|                          91  int line_91
#|/opt/server/src/session.c: live at the peak
#|       own      total   line
#|
#|                          85  int line_85
#|                          86  int line_86
#|                          87  int line_87
#|         6          6     88  	clone(?[31m);
#|                          89  int line_89
#|                          90  int line_90
#|                          91  int line_91
#|  own  own blocks  total  total blocks  source     line
#|600 B           6  600 B             6  session.c    88
