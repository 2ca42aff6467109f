. "$CASES/../fixture.sh"
mtrace-query leaks run.db --fail-if "leaked_bytes > 500"
# expect status 3
# expect stdout
#|process   leaked  leaked blocks  never freed  pattern  stacks  where                         site
#|      1    700 B              7         58 %  steady        2  Session::clone  session.c:88     2
#|      1  3.9 KiB              1        100 %  once          1  Cache::reserve  cache.c:31       3
#|next: mtrace-query leaks run.db --site 2
