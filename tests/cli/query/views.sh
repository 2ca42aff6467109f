. "$CASES/../fixture.sh"
mtrace-query views
# expect stdout
#|name                   kind   row is
#|allocations            view   one row per heap block from allocation to free; if 'aggregate' of me..
#|allocator_advice       view   one row per process: its allocator, and how its free memory goes bac..
#|by_function            view   one row per function: what it allocates itself, and together with ev..
#|by_group               view   one row per group to which the program charged memory; empty if it h..
#|by_module              view   one row per file of code: what it allocates itself, and together wit..
#|by_pool                view   one row per allocator inside the program (mtrace_pool_create): what ..
#|by_tag                 view   one row per tag of groups: the memory that was charged to all groups..
#|claimed_twice          view   one row per claim of a block that another object of the same walk ha..
#|errors                 view   one row per free or realloc of an address that was not a live block:..
#|flows                  view   one row per pair of threads: the thread that allocated memory, and t..
#|fragmentation          view   one row per heap at the process's peak and at its end: the parts of ..
#|groups                 view   one row per stack: everything that was allocated with the same backt..
#|growth                 view   one row per call site whose live bytes rose from the first snapshot ..
#|held                   view   one row per root of the last heap image of each process: a variable,..
#|hot                    view   one row per call site, busiest first: where the program spends its c..
#|leaks                  view   one row per call site whose blocks were never freed by the end of th..
#|leaks_by_stack         view   one row per stack whose blocks were never freed by the end of their ..
#|lifetime_histogram     view   one row per class of lifetimes, and one for the blocks that were nev..
#|live_blocks            view   blocks that were live at a time that you choose: WHERE at_ns = … (a ..
#|lost                   view   one row per call site whose blocks were lost at the time of the last..
#|mapping_levels         view   one row per time at which mappings of a kind changed: how much addre..
#|mappings               view   one row per piece of address space that was seen: mappings of the pr..
#|object_growth          view   one row per path whose own bytes differ between a walk and the one b..
#|object_tree            view   one row per path in the tree of objects of a process's last walk (mt..
#|peak                   view   one row per call site with live blocks at the time when its process ..
#|pinning                view   one row per call site that alone prevents heap pages from being retu..
#|pool_blocks            view   one row per block of a pool from allocation to free, inside a block ..
#|reallocs               view   one row per call site whose buffers grow or shrink by realloc.
#|retained               view   one row per block of the last heap image of each process that no oth..
#|sites                  view   one row per call site with its names, for statements of your own.
#|size_histogram         view   one row per class of block sizes.
#|spare_capacity         view   one row per container of a walk with capacity that no element uses, ..
#|stack_frames           view   a stack with names, one row per position; use WHERE backtrace_id = …..
#|stack_texts            view   a stack as one text, for spreadsheets and line tools; use WHERE back..
#|summary                view   one row per named value of a process: what to look at first.
#|suppressions           view   one row per rule that names leaks which the program's authors cannot..
#|temporary              view   one row per call site whose blocks were freed right after their allo..
#|unclaimed              view   one row per stack whose live blocks no object owned in a process's l..
#|unwind_quality         view   one row per kind of stack end: how far stacks could be followed, and..
#|allocation_failures    table
#|allocation_group_tags  table
#|allocation_groups      table  groups made by mtrace_group_register and _intern; empty if the progr..
#|backtrace_allocations  table  allocations by stack; filled by mtrace-import --index only
#|backtrace_totals       table
#|backtraces             table  a node of the stack tree = a distinct stack, shared by all processes..
#|call_site_rules        table  code that is skipped when mtrace looks for a call site: allocators, ..
#|call_sites             table  the place in the user's own code that is responsible for an allocation
#|chain_totals           table  realloc_chains by the stack where they began
#|frame_lines            table  positions of a frame; every frame has level 0, even if nothing is kn..
#|frames                 table  a distinct code position, shared by all processes
#|free_sites             table  stacks that free the blocks of each stack; by free only
#|function_totals        table  totals by function; a recursive function counts once per stack; self..
#|functions              table
#|group_flows            table  groups in which the blocks of each group are freed, by free and real..
#|group_moves            table  blocks that mtrace_move charged to another group; empty if blocks ha..
#|group_totals           table  totals by process and group; empty if the program has no groups; all..
#|heap_extents           table  end of a heap over time: one row for each change that was seen
#|heap_image_blocks      table  blocks that were live at the time of the image
#|heap_image_sites       table  blocks of heap_image_blocks by call site
#|heap_images            table  one row for each image
#|heap_pages             table  pages that hold a live byte; a block occupies [address, address + us..
#|heap_pins              table  pages whose live blocks may all have one call site, by stack
#|heap_states            table  parts of a heap at a snapshot. The six parts sum to extent_bytes; if..
#|heaps                  table  heaps of the allocators; blocks with a mapping of their own belong t..
#|kinds                  table  functions that allocate: 'malloc', 'calloc', 'realloc', 'aligned_all..
#|leaked_allocations     table  when leaked blocks were allocated
#|lifetime_classes       table  freed blocks by lifetime; to_ns is outside the class
#|mallopts               table
#|markers                table
#|memory_samples         table
#|meta                   table  facts about the recording and the import
#|mmaps                  table  a piece of a mapping that ends as a whole; pieces of one call share ..
#|module_totals          table  function_totals for files of code; self: the call site is in this file
#|modules                table  an object that is mapped into a process
#|object_claims          table  blocks and the nodes that own them
#|object_nodes           table  the tree of a walk: all objects with one path of names
#|object_parts           table  parts of an object's file that the log holds: headers and symbol tab..
#|object_walks           table  one row for each mtrace_walk_record; empty if the program has none
#|object_warnings        table
#|objects                table  an ELF file, one row for all processes and paths that map it
#|phase_totals           table  totals of all phases of one name, including phases for whose rows a ..
#|phases                 table  phases begun by mtrace_phase_begin; numbers cover the whole process ..
#|pools                  table  pools made by mtrace_pool_create, or by heaptrack's calls; empty if ..
#|processes              table  one recorded program image: fork makes a child, exec ends one image ..
#|realloc_chains         table  chains of two or more blocks
#|roots                  table  words outside of blocks, and registers, that hold blocks on a shorte..
#|row_ranges             table  private: ranges of values in each 4,096 rows of packed_allocation_ro..
#|site_frees             table  the call site that freed most blocks of a call site: of its stacks t..
#|site_growth            table  call sites whose live bytes changed between regular snapshots
#|site_leak_times        table  leaked_allocations by call site and rule; blocks that were lost at a..
#|site_leaks             table  leaks by call site and rule; blocks that were lost at an exec are no..
#|site_references        table  pointers between blocks, by call site
#|site_shapes            table  the pattern in which the leaks, or the live bytes, of a call site ca..
#|site_totals            table  backtrace_totals summed by call site
#|size_classes           table  totals by size of block; from_bytes and to_bytes are both inside the..
#|skipped_code           table  code that a rule of call_site_rules matches, or a wrapper without a ..
#|snapshot_backtraces    table  stacks that changed since the previous snapshot; 'peak' and 'end' ha..
#|snapshot_sites         table  changes of live bytes by call site, from one regular snapshot to the..
#|snapshots              table  times at which the live bytes of every stack were stored
#|sources                table
#|suppressed_stacks      table  leaking stacks that match a suppression rule
#|tag_totals             table  as group_totals, for all groups with a tag
#|thread_flows           table  threads that free the blocks of each thread, including its own
#|threads                table
#|timeline               table
#|unclaimed_totals       table  live blocks that no object of a walk owns, by stack
#|unmatched_frees        table  calls of free or realloc with an address that is not a live block; o..
#|windows                table  times in which allocations were recorded: one row if the process was..
