# What a program could reach at its last heap image, and why; without an image there is a hint.
. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
for command in lost held 'why 0x10080'; do
    # shellcheck disable=SC2086
    mtrace-query ${command%% *} rows.db ${command#"${command%% *}"} || echo "$command $?"
done
sqlite3 -bail rows.db <"$source/tests/sql/image.sql"
mtrace-query lost rows.db
mtrace-query lost rows.db --stacks
mtrace-query held rows.db
mtrace-query why rows.db 0x10201
mtrace-query why rows.db --site 2
mtrace-query why rows.db 0x11801
mtrace-query why rows.db 0x30060
mtrace-query why rows.db 0x1
mtrace-query why rows.db || echo "why $?"
mtrace-query held rows.db --fail-if 'bytes > 240' >held || echo "held $?"
# expect stdout
#|lost 1
#|held 1
#|why 0x10080 1
#|process  retained    bytes  blocks  where                       site
#|      1   5.1 KiB  4.9 KiB       1  Cache::reserve  cache.c:31     3
#|next: mtrace-query leaks rows.db --site 3 --stacks
#|process  retained    bytes  blocks  where                       site  stack
#|      1   5.1 KiB  4.9 KiB       1  Cache::reserve  cache.c:31     3      6
#|    Cache::reserve  cache.c:31
#|    main  main.c:10
#|    _start
#|next: mtrace-query leaks rows.db --site 3 --stacks
#|process  bytes  blocks  kind    symbol      offset  module  thread
#|      1  250 B       2  global  g_sessions     8 B  server       -
#|      1   40 B       1  stack   -            512 B  -            2
#|step  state   address   size  where                             age  stack
#|   0  global        -      -  g_sessions+0x8  server              -      -
#|   1  held    0x10080  200 B  Session::clone  session.c:88  90.0 ms      4
#|   2  held    0x10200   50 B  Cache::reserve  cache.c:31    85.0 ms      6
#|step  state   address   size  where                             age  stack
#|   0  global        -      -  g_sessions+0x8  server              -      -
#|   1  held    0x10080  200 B  Session::clone  session.c:88  90.0 ms      4
#|step  state           address     size  where                             age  stack
#|   0  lost           0x7f0010  4.9 KiB  Cache::reserve  cache.c:31    25.0 ms      6
#|   1  lost_indirect   0x11800    200 B  Session::clone  session.c:88   5.0 ms      4
#|step  state  address  size  where                   age  stack
#|   0  stack        -     -  -                         -      -
#|   1  held   0x30040  40 B  worker  libwork.so  55.0 ms      8
#|step  state  address  size  where  age  stack
#|why 2
#|held 3
# expect stderr
#|mtrace-query: there is no heap image: record with mtrace-record --heap-image=exit, or take one with mtrace-record --ctl PID heap-image
#|mtrace-query: there is no heap image: record with mtrace-record --heap-image=exit, or take one with mtrace-record --ctl PID heap-image
#|mtrace-query: there is no heap image: record with mtrace-record --heap-image=exit, or take one with mtrace-record --ctl PID heap-image
#|mtrace-query: note: no block of a heap image is there
#|mtrace-query: why needs an address, or a call site
#|Try 'mtrace-query --help'.
