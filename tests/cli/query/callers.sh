. "$CASES/../fixture.sh"
# 3 and 5 are Session::clone, called from two lines of main: one caller.
mtrace-query callers Session::clone run.db
mtrace-query callers run.db clone --by blocks --measure leaked
mtrace-query callees main run.db --format csv
mtrace-query callees run.db main --sort-by blocks -n 1
mtrace-query callers run.db _start --format json
# clone -> clone -> main -> clone: recursion counts a stack once, and no function is its own caller.
sqlite3 run.db "UPDATE frame_lines SET function_id = 3 WHERE frame_id IN (3, 4)"
mtrace-query callers clone run.db --process 1
mtrace-query callees clone run.db --process 1
# Arguments of templates need not be written.
sqlite3 run.db "UPDATE functions SET name = 'app::Registry<std::vector<int>, 42>::add(int)' WHERE name LIKE 'Session::clone%'"
mtrace-query callers Registry::add run.db
mtrace-query callers 'app::Registry<..>::add' run.db -n 1
# expect stdout
#|callers of Session::clone: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of clone: leaked, 700 B in 7 blocks, 14 % of all
#|bytes  blocks  share  function  module
#|700 B       7  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|bytes,blocks,share,function,module
#|4500,6,0.8680555556,Cache::reserve,/opt/server/bin/server
#|600,6,0.1157407407,Session::clone(int) const,/opt/server/bin/server
#|84,3,0.0162037037,(of its own),
#|callees of main: live at the peak, 5.1 KiB in 15 blocks, 49 % of all
#|  bytes  blocks  share  function        module
#|4.4 KiB       6   87 %  Cache::reserve  server
#|more rows: -n 0
#|next: mtrace-query flamegraph run.db -o heap.svg
#|[
#| {"bytes":10534,"blocks":44,"share":1.0,"function":"(no caller)","module":null}
#|]
#|callers of clone: live at the peak, 600 B in 6 blocks, 6.0 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callees of clone: live at the peak, 600 B in 6 blocks, 6.0 % of all
#|bytes  blocks  share  function      module
#|600 B       6  100 %  (of its own)  -
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of Registry::add: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
#|callers of app::Registry<..>::add: live at the peak, 600 B in 6 blocks, 5.7 % of all
#|bytes  blocks  share  function  module
#|600 B       6  100 %  main      server
#|next: mtrace-query flamegraph run.db -o heap.svg
