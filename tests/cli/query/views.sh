. "$CASES/../fixture.sh"
mtrace-query views
# expect stdout
#|name                   kind   row_is
#|allocations            view   the public face of allocation_rows: one heap block from birth to dea..
#|by_function            view   one row per function: what it allocates itself, and together with ev..
#|by_group               view   one row per group that the program charged memory to; empty where it..
#|by_module              view   one row per file of code: what it allocates itself, and together wit..
#|by_pool                view   one row per allocator of the program's own (mtrace_pool_create): wha..
#|by_tag                 view   one row per tag of groups, for all groups that have it: what a tenan..
#|claimed_twice          view   one row per claim of a block that another object of the same walk ha..
#|flows                  view   one row per pair of threads: who frees whose memory.
#|fragmentation          view   one row per heap at the process's peak and at its end: what its memo..
#|groups                 view   one row per stack: everything that was allocated with the same backt..
#|growth                 view   one row per call site whose live bytes keep rising from snapshot to ..
#|hot                    view   one row per call site, busiest first: where the program spends its c..
#|leaks                  view   one row per call site whose blocks were never freed by the end of th..
#|leaks_by_stack         view   one row per stack whose blocks were never freed by the end of their ..
#|lifetime_histogram     view   one row per class of lifetimes, and one for the blocks that never en..
#|live_blocks            view   blocks that were live at an instant of your own: WHERE at_ns = … (a ..
#|mapping_levels         view   one row per instant at which the mappings of a kind were seen to cha..
#|mappings               view   one row per piece of address space that was seen: what the program m..
#|object_growth          view   one row per path whose own bytes differ between a walk and the one b..
#|object_tree            view   one row per path in the tree of objects of a process's last walk (mt..
#|peak                   view   one row per call site with live blocks at the instant its process he..
#|pinning                view   one row per call site that alone keeps heap pages from being given b..
#|pool_blocks            view   one block of a pool from birth to death, inside a block of allocatio..
#|reallocs               view   one row per call site whose buffers grow or shrink by realloc.
#|sites                  view   one row per call site with its names, for statements of your own.
#|size_histogram         view   one row per class of block sizes.
#|spare_capacity         view   one row per container of a walk that has room which no element uses,..
#|stack_frames           view   a stack as people read it; made for WHERE backtrace_id = … ORDER BY ..
#|stack_texts            view   a stack as one text, for spreadsheets and line tools; made for WHERE..
#|summary                view   one row per named figure of a process: what to look at first.
#|suppressions           view   one row per rule that says which leaks nobody can or needs to fix.
#|temporary              view   one row per call site whose blocks were freed at once.
#|unclaimed              view   one row per stack whose live blocks no object owned in a process's l..
#|unwind_quality         view   one row per kind of stack end: how far stacks could be followed, and..
#|allocation_failures    table
#|allocation_group_tags  table
#|allocation_groups      table  made by mtrace_group_register and _intern; empty where the program h..
#|backtrace_allocations  table  allocations by stack; filled by mtrace-import --index only
#|backtrace_totals       table
#|backtraces             table  a node of the stack tree = a distinct stack, shared by all processes..
#|call_site_rules        table  what is skipped when looking for a call site: allocators, operator n..
#|call_sites             table  the place in the user's own code that a person blames
#|chain_totals           table  realloc_chains by the stack where they began
#|frame_lines            table  positions of a frame; every frame has level 0, also when nothing is ..
#|frames                 table  a distinct code position, shared by all processes
#|free_sites             table  who frees what is born there; by free only
#|function_totals        table  recursion counted once; self: the call site is in this function
#|functions              table
#|group_flows            table  in which group is freed what is charged to which; by free and realloc
#|group_moves            table  blocks that mtrace_move charged to another group; filled where block..
#|group_totals           table  empty where the program has no groups; allocated + moved in = freed ..
#|heap_extents           table  how far a heap reached, when that was seen to change
#|heap_pages             table  pages that hold a live byte; a live extent is [address, address + us..
#|heap_pins              table  pages whose live blocks may all have one call site, by stack
#|heap_states            table  the six parts sum to extent_bytes; of a heap with unseen_blocks all ..
#|heaps                  table  blocks with a mapping of their own belong to no heap
#|kinds                  table  what was called: 'malloc', 'calloc', 'realloc', 'aligned_alloc', …
#|leaked_allocations     table  when leaked blocks were born
#|lifetime_classes       table  freed blocks by lifetime; to_ns is outside the class
#|mallopts               table
#|markers                table
#|memory_samples         table
#|meta                   table  facts about the recording and the import
#|mmaps                  table  a piece of a mapping with one fate; pieces of one call share mmap_ca..
#|module_totals          table  function_totals for files of code; self: the call site is in this file
#|modules                table  an object mapped into a process for a while
#|object_claims          table  which block belongs to which node
#|object_nodes           table  the tree of a walk: all objects with one path of names
#|object_parts           table  what the log has of an object's file: headers and symbol tables, for..
#|object_walks           table  one for each mtrace_walk_record; empty where the program has none
#|object_warnings        table
#|objects                table  an ELF file, whatever processes map it and by whatever paths
#|phase_totals           table  all phases of one name, those included of which a log of --aggregate..
#|phases                 table  made by mtrace_phase_begin; figures are of the whole process while t..
#|pools                  table  made by mtrace_pool_create, or by heaptrack's calls; empty where the..
#|processes              table  one recorded program image: fork makes a child, exec ends one and st..
#|realloc_chains         table  chains of two or more blocks
#|row_ranges             table  private: what lies in each 4,096 rows of packed_allocation_rows, so ..
#|site_births            table  leaked_allocations by call site and rule; what exec took away is no ..
#|site_frees             table  the call site that freed most of another's blocks
#|site_growth            table  call sites whose live bytes changed between regular snapshots
#|site_leaks             table  leaks by call site and rule; what exec took away is no leak
#|site_shapes            table  the word for how the leaks, or the live bytes, of a call site came o..
#|site_totals            table  backtrace_totals summed by call site
#|size_classes           table  from_bytes and to_bytes are both inside the class
#|skipped_code           table  what a rule of call_site_rules names, so that it is no call site
#|snapshot_backtraces    table  stacks that changed since the snapshot before; 'peak' and 'end' are ..
#|snapshot_sites         table  regular snapshots and the end by call site: what changed since the o..
#|snapshots              table  moments at which what every stack has live was noted
#|sources                table
#|suppressed_stacks      table  stacks with leaks that are nobody's fault
#|tag_totals             table  the same for all groups with a tag
#|thread_flows           table  which thread ends whose blocks, its own included
#|threads                table
#|timeline               table
#|unclaimed_totals       table  live blocks that no object of a walk owns, by stack
#|windows                table  times in which allocations were recorded: one for a process that was..
