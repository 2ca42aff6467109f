. "$CASES/../fixture.sh"
mtrace-query stack run.db 5
mtrace-query stack 5 run.db --format json
# expect stdout
#|frame  inlined  where                         offset
#|    0        0  Session::clone  session.c:88  0x2010
#|    0        1  main  main.c:12               0x2010
#|    1        0  main  main.c:10               0x2000
#|    2        0  _start  libc.so.6             0x1000
#|[
#| {"frame":0,"inline_level":0,"function":"Session::clone(int) const","source":"/opt/server/src/session.c","line":88,"module":"/opt/server/bin/server","object_offset":8208},
#| {"frame":0,"inline_level":1,"function":"main","source":"/opt/server/src/main.c","line":12,"module":"/opt/server/bin/server","object_offset":8208},
#| {"frame":1,"inline_level":0,"function":"main","source":"/opt/server/src/main.c","line":10,"module":"/opt/server/bin/server","object_offset":8192},
#| {"frame":2,"inline_level":0,"function":"_start","source":null,"line":null,"module":"/usr/lib/libc.so.6","object_offset":4096}
#|]
