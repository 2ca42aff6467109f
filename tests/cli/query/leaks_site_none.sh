# A call site that leaks nothing says so.
. "$CASES/../fixture.sh"
mtrace-query leaks run.db --process 3 --site 2
mtrace-query leaks run.db --process 3 --site 2 --csv
# expect stdout
#|run.db  sh (process 3, pid 814), 1.0 s, replaced by exec: blocks live at that time are not leaks
#|leaked 0 B in 0 blocks of 0 sites; 100 % of stacks complete
#|process  leaked  leaked blocks  never freed  pattern  stack  where  site
#|process_id,backtrace_id,leaked_bytes,leaked_blocks,share_of_site,function,source,line,module,call_site_id,leaked_first_ns,leaked_last_ns,pattern,usually_freed_in,suppressed_by,weight,leaked_bytes_margin,leaked_blocks_margin
# expect stderr
#|mtrace-query: note: no rows
