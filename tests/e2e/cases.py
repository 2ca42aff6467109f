# SPDX-License-Identifier: MIT
"""The workloads as test cases, and the SQL of their expectations."""

import sys
from dataclasses import dataclass, field

# A workload's own blocks have sizes that end in 777; the first process is the one that was started.
OWN = "FROM allocations WHERE size_bytes % 1000 = 777 AND process_id = 1"

# tests/workloads/stepped.c reports a count as the size of a block, identified by its alignment.
STEPPED_COUNT = "(SELECT size_bytes / 1000 FROM allocations WHERE alignment = {} AND process_id = 1)"
STEPPED_FAILURES = "(SELECT count(*) FROM allocation_failures JOIN kinds USING (kind) WHERE name = '{}' AND process_id = 1)"

SQL = {
    "allocated": f"SELECT count(*) {OWN}",
    "allocated_bytes": f"SELECT coalesce(sum(size_bytes), 0) {OWN}",
    "freed": f"SELECT count(*) {OWN} AND free_ns IS NOT NULL",
    "leaked_blocks": f"SELECT count(*) {OWN} AND is_leaked",
    "leaked_bytes": f"SELECT coalesce(sum(size_bytes), 0) {OWN} AND is_leaked",
    "freed_in_other_thread": f"SELECT count(*) {OWN} AND free_thread_id <> thread_id",
    "threads": "SELECT count(*) FROM threads WHERE process_id = 1",
    "failures": "SELECT count(*) FROM allocation_failures WHERE process_id = 1",
    "endless_failures": "SELECT count(*) FROM allocation_failures WHERE size_bytes = 9223372036854775807",
    "failed": "SELECT count(*) FROM allocation_failures WHERE process_id = 1",
    "chain_length": "SELECT max(length) FROM realloc_chains WHERE process_id = 1",
    "copied_of_moved_pages": "SELECT sum(copied_bytes) FROM realloc_chains WHERE last_size_bytes >= 16 << 20 AND moves > 5",
    "allocator": "SELECT allocator FROM processes WHERE process_id = 1",
    "mallopts": "SELECT count(*) FROM mallopts WHERE process_id = 1 AND call = 'mallopt'",
    "malloc_trims": "SELECT count(*) FROM mallopts WHERE process_id = 1 AND call = 'malloc_trim'",
    "results": "SELECT sum(result) FROM mallopts WHERE process_id = 1",
    # PROT_READ and MAP_ANONYMOUS: only the workload maps such memory.
    "mapped_pages_live": "SELECT sum(length) / 4096 FROM mmaps WHERE prot = 1 AND flags & 32 AND unmapped_ns IS NULL",
    "mmap_calls": "SELECT count(DISTINCT mmap_call_id) FROM mmaps WHERE prot = 1 AND flags & 32 "
                  "AND remapped_from_id IS NULL",
    # Private anonymous mappings of so many pages, by how many of them were in memory.
    **{f"touched_{n}": f"SELECT sum(peak_rss_bytes) / 4096 FROM mmaps WHERE length = {n} * 4096 AND prot = 3 AND flags & 34 = 34"
       for n in (50, 53, 57, 90, 101, 102, 103, 104, 117, 131, 141, 151, 170, 203, 9001)},
    "looked_at_5003": "SELECT count(*) FROM mmaps WHERE length = 5003 * 4096 AND peak_rss_bytes IS NOT NULL",
    "unlooked": "SELECT value FROM meta WHERE key = 'mmaps.unlooked'",
    "aligned_to_a_page": "SELECT count(*) FROM allocations WHERE alignment = 4096 AND is_leaked AND process_id = 1",
    "with_elided": f"SELECT (SELECT count(*) {OWN}) + (SELECT sum(elided_blocks) FROM backtrace_totals)",
    "with_elided_bytes": f"SELECT (SELECT sum(size_bytes) {OWN}) + (SELECT sum(elided_bytes) FROM backtrace_totals)",
    "crossed": "SELECT count(*) FROM allocations WHERE size_bytes = 777 AND free_ns IS NOT NULL",
    # Blocks whose innermost frame is in the module.
    **{f"in_{module.lower().replace('-', '_')}":
       "SELECT count(*) FROM allocations a JOIN backtraces b ON b.backtrace_id = a.backtrace_id JOIN frames USING (frame_id) "
       f"JOIN objects USING (object_id) WHERE path LIKE '%/gconv/{module}.so'" for module in ("UTF-16", "UTF-32", "UNICODE")},
    # Code without a file has no unwind tables: frames outside of it are guessed or missing.
    "complete_through_jit": "SELECT count(*) FROM allocations a JOIN backtraces b ON b.backtrace_id = a.backtrace_id "
                            "WHERE size_bytes IN (1777, 2777) AND status = 'complete'",
    "jit_positions": "SELECT count(*) FROM frames WHERE object_id IS NULL AND object_offset <> 0",
    # The frame pointer finds the caller.
    "called_through": "SELECT count(*) FROM allocations a WHERE size_bytes = 1777 AND EXISTS (SELECT 1 FROM stack_frames f "
                      "WHERE f.backtrace_id = a.backtrace_id AND function = 'call_through')",
    "children_blocks": "SELECT count(*) FROM allocations WHERE size_bytes = 3777 AND process_id > 1 AND is_leaked",
    "children": "SELECT count(*) FROM processes WHERE process_id > 1",
    "whole_after": "SELECT count(*) FROM allocation_failures f JOIN kinds k ON k.kind = f.kind AND k.name = 'calloc' "
                   "JOIN backtraces b USING (backtrace_id) WHERE status = 'complete'",
    "whole_behind": "SELECT count(*) > 0 AND sum(coalesce(status, '') <> 'complete') = 0 FROM allocation_failures f JOIN kinds k "
                    "ON k.kind = f.kind AND k.name = 'aligned_alloc' LEFT JOIN backtraces b USING (backtrace_id)",
    "all_handled": f"SELECT {STEPPED_FAILURES.format('reallocarray')} = {STEPPED_COUNT.format(128)}",
    # Some of the interrupted calls had already written their event.
    "all_that_failed": f"SELECT {STEPPED_FAILURES.format('malloc')} BETWEEN {STEPPED_COUNT.format(64)} "
                       f"AND {STEPPED_COUNT.format(64)} + {STEPPED_COUNT.format(128)}",
    "heap_kept": "SELECT count(*) FROM allocations WHERE size_bytes IN (1777, 5777) AND is_leaked",
    "at_root_after": "SELECT count(*) FROM allocations WHERE size_bytes = 3777 AND group_id = 1 AND is_leaked",
    "double_frees": "SELECT count(*) FROM errors WHERE kind = 'double_free'",
    "invalid_frees": "SELECT count(*) FROM errors WHERE kind = 'invalid_free'",
    "with_all_stacks": "SELECT count(*) FROM errors WHERE first_free_stack GLOB 'free_first*' AND alloc_stack GLOB '*allocate*' OR "
                       "alloc_stack GLOB '*free_reused*' AND first_free_stack GLOB '*free_reused*'",
    "invalid_inside": "SELECT count(*) FROM errors WHERE offset_bytes = 16 AND alloc_stack GLOB '*allocate*' AND first_free_stack IS NULL",
    "deepest": "SELECT max(depth) >= 30000 FROM backtraces",
}

# Names of groups, tags and phases stand after the dot.
NAMED = f"{OWN} AND group_id IN (SELECT group_id FROM allocation_groups WHERE name = '{{0}}')"
TAGGED = "FROM by_tag WHERE process_id = 1 AND key || '=' || value = '{0}'"
IN_PHASE = "FROM phases WHERE name = '{0}'"
IN_POOL = "SELECT ", " FROM pool_blocks b WHERE pool = '{0}' AND process_id = 1"
SQL_BY_NAME = {
    "group_bytes": f"SELECT coalesce(sum(size_bytes), 0) {NAMED}",
    "group_leaked": f"SELECT coalesce(sum(size_bytes), 0) {NAMED} AND is_leaked",
    "freed_in": f"SELECT coalesce(sum(size_bytes), 0) {OWN} AND free_group_id IN (SELECT group_id FROM allocation_groups WHERE name = '{{0}}')",
    "freed_elsewhere": "SELECT freed_elsewhere_bytes FROM by_group WHERE name = '{0}'",
    "moved_out": "SELECT moved_out_bytes FROM by_group WHERE name = '{0}'",
    "moved_in": "SELECT moved_in_bytes FROM by_group WHERE name = '{0}'",
    "live_in_group": "SELECT leaked_bytes FROM by_group WHERE name = '{0}'",
    "live_blocks_in_group": "SELECT leaked_blocks FROM by_group WHERE name = '{0}'",
    "allocated_in_group": "SELECT allocated_bytes FROM by_group WHERE name = '{0}'",
    "freed_in_group": "SELECT freed_bytes FROM by_group WHERE name = '{0}'",
    "group_peak": "SELECT peak_bytes FROM by_group WHERE name = '{0}'",
    "groups_named": "SELECT count(*) FROM allocation_groups WHERE name = '{0}'",
    "tag_bytes": f"SELECT sum(size_bytes) {OWN} AND group_id IN (SELECT group_id FROM allocation_group_tags WHERE key || '=' || value = '{{0}}')",
    "tag_allocated": f"SELECT allocated_bytes {TAGGED}",
    "tag_freed": f"SELECT freed_bytes {TAGGED}",
    "tag_leaked": f"SELECT leaked_bytes {TAGGED}",
    "phase_bytes": f"SELECT allocated_bytes {IN_PHASE}",
    "phase_freed": f"SELECT freed_bytes {IN_PHASE}",
    "phase_leaked": f"SELECT leaked_bytes {IN_PHASE}",
    "phase_growth_at_peak": f"SELECT peak_bytes - live_start_bytes {IN_PHASE}",
    "object_kind": "SELECT sum(self_bytes) FROM object_nodes WHERE kind = '{0}'",
    "pool_blocks": f"{IN_POOL[0]}count(*){IN_POOL[1]}",
    "pool_bytes": f"{IN_POOL[0]}sum(size_bytes){IN_POOL[1]}",
    "pool_freed": f"{IN_POOL[0]}sum(ended_by = 'free'){IN_POOL[1]}",
    "pool_resized": f"{IN_POOL[0]}sum(ended_by = 'realloc' AND EXISTS (SELECT 1 FROM pool_blocks n WHERE n.realloc_from_id = b.pool_block_id)){IN_POOL[1]}",
    "pool_live": f"{IN_POOL[0]}coalesce(sum(size_bytes * is_leaked), 0){IN_POOL[1]}",
    "pool_inside": f"{IN_POOL[0]}count(offset_bytes >= 0 AND offset_bytes + size_bytes <= (SELECT size_bytes FROM allocations a "
                   f"WHERE a.allocation_id = b.allocation_id)){IN_POOL[1]}",
    "pool_peak": "SELECT peak_bytes FROM by_pool WHERE name = '{0}' AND process_id = 1",
    "pool_held": "SELECT held_bytes FROM by_pool WHERE name = '{0}' AND process_id = 1",
    "pool_spare": "SELECT spare_bytes FROM by_pool WHERE name = '{0}' AND process_id = 1",
    # Blocks of one size with complete stacks.
    "through_outer": "SELECT count(*) FROM allocations a JOIN backtraces b USING (backtrace_id) WHERE size_bytes = {0}777 AND status <> 'truncated' "
                     "AND EXISTS (SELECT 1 FROM stack_frames f WHERE f.backtrace_id = a.backtrace_id AND function = 'outer')",
    "after_marker": f"SELECT sum(size_bytes) {OWN} AND marker_id = (SELECT marker_id FROM markers WHERE name = '{{0}}')",
}
SQL |= {
    "open_phases": "SELECT count(*) FROM phases WHERE end_ns IS NULL",
    "stale_exits": "SELECT value FROM meta WHERE key = 'groups.stale_exits'",
    "unknown_moves": "SELECT value FROM meta WHERE key = 'groups.unknown_moves'",
    "bad_handles": "SELECT value FROM meta WHERE key = 'groups.bad_handles'",
    "unknown_phase_ends": "SELECT value FROM meta WHERE key = 'phases.unknown_ends'",
    "refused_groups": "SELECT coalesce((SELECT value FROM meta WHERE key = 'groups.refused'), 0)",
    "phases": "SELECT count(*) FROM phases",
    "deepest_phase": "SELECT max(depth) FROM phases",
    "untracked_frees": "SELECT value FROM meta WHERE key = 'frees.untracked'",
    "wrong_answers": "SELECT 0",
    "walks": "SELECT count(*) FROM object_walks WHERE process_id = 1",
    "walks_without_names": "SELECT count(*) FROM object_walks w WHERE NOT is_whole OR warnings <> 1 OR "
                           "(SELECT count(*) FROM object_nodes n WHERE n.walk_id = w.walk_id AND path LIKE 'service;slots;slot;value;text;char') <> 1",
    "claims": "SELECT count(*) FROM object_claims",
    "claimed_blocks": "SELECT claimed_blocks FROM object_walks",
    "claimed_bytes": "SELECT claimed_bytes FROM object_walks",
    "claimed_own": f"SELECT coalesce(sum(size_bytes), 0) {OWN} AND allocation_id IN (SELECT allocation_id FROM object_claims)",
    "unclaimed_own": "SELECT coalesce(sum(u.bytes), 0) FROM unclaimed u WHERE backtrace_id IN (SELECT a.backtrace_id FROM allocations a "
                     "WHERE a.size_bytes % 1000 = 777) AND process_id = 1",
    "claimed_twice": "SELECT count(*) FROM claimed_twice",
    "pair_of_owners": "SELECT count(*) FROM claimed_twice WHERE path = 'other;p;owned' AND first_path = 'one;p;owned'",
    "claims_in_pools": "SELECT count(*) FROM object_claims c JOIN pool_blocks b USING (pool_block_id) WHERE b.address = c.address",
    "no_block_warnings": "SELECT count(*) FROM object_warnings WHERE text LIKE '%: no live block begins at 0x%'",
    "too_large_warnings": "SELECT count(*) FROM object_warnings WHERE text LIKE '%: declared as 100 bytes, but its block has 50, 0x%'",
    "object_warnings": "SELECT count(*) FROM object_warnings",
    "unclaimed_mine": "SELECT count(*) FROM allocations WHERE is_leaked AND group_id IN (SELECT group_id FROM allocation_groups WHERE name = 'mine') "
                      "AND allocation_id NOT IN (SELECT allocation_id FROM object_claims WHERE allocation_id IS NOT NULL) "
                      "AND allocation_id NOT IN (SELECT allocation_id FROM pool_blocks WHERE allocation_id IS NOT NULL)",
    "claimed_not_mine": "SELECT count(*) FROM allocations WHERE group_id NOT IN (SELECT group_id FROM allocation_groups WHERE name = 'mine') "
                        "AND allocation_id IN (SELECT allocation_id FROM object_claims)",
    "nodes_of_parts": "SELECT count(*) FROM object_nodes WHERE path LIKE 'everything;parts;data;%part' AND kind = 'block'",
    "bytes_of_sqlite": "SELECT sum(a.size_bytes) FROM object_claims c JOIN object_nodes n USING (walk_id, node_id) JOIN allocations a USING (allocation_id) "
                       "WHERE n.path LIKE 'sqlite;%;blocks;block'",
    "known_nine_tenths": "SELECT claimed_bytes * 100 / live_bytes >= 90 FROM object_walks",
    "bad_object_records": "SELECT coalesce((SELECT value FROM meta WHERE key = 'objects.bad_records'), 0)",
    # V14: the tree has all blocks, and otherwise only roots that are no blocks.
    "tree_is_claims": "SELECT (SELECT sum(self_bytes) FROM object_nodes) - (SELECT sum(coalesce((SELECT usable_bytes FROM allocations a "
                      "WHERE a.allocation_id = c.allocation_id), declared_bytes)) FROM object_claims c WHERE NOT is_repeated)",
    "few_nodes": "SELECT count(*) < 100 FROM object_nodes",
    "growth_of_names": "SELECT growth_bytes FROM object_growth WHERE path = 'service;names;name;text;char'",
    "spare_of_names": "SELECT unused_bytes FROM spare_capacity WHERE path = 'service;names;name' ORDER BY walk_id DESC LIMIT 1",
    "unknown_in_pools": "SELECT value FROM meta WHERE key = 'pools.unknown'",
    "child_pool_bytes": "SELECT sum(size_bytes) FROM pool_blocks WHERE pool = 'late' AND process_id = 2",
    "messages": "SELECT count(*) FROM meta WHERE key LIKE 'message.%' AND value LIKE '%override_next_timestamp%'",
    "tags": "SELECT count(DISTINCT key || '=' || value) FROM allocation_group_tags",
    "odd_tags": "SELECT count(*) FROM by_tag WHERE key = 'k, e=y' AND value = 'v\"a''l%ué' AND allocated_bytes = 3777",
    "ids_reported": f"SELECT count(*) {OWN} AND thread_id || ' ' || free_thread_id = (SELECT name FROM markers)",
    "wrong_group_bytes": f"SELECT coalesce(sum(size_bytes), 0) {OWN} AND (group_id = 0) <> (size_bytes IN (50777, 60777))",
    "usable_is_known": f"SELECT min(usable_bytes >= size_bytes) {OWN} AND group_id > 1",
    "child_group_bytes": "SELECT sum(size_bytes) FROM allocations WHERE process_id = 2 AND group_id IN "
                         "(SELECT group_id FROM allocation_groups WHERE name = 'request')",
}


def sql_of(name):
    """The SQL of an expectation, None if it has none."""
    kind, _, of = name.partition(".")
    return SQL_BY_NAME[kind].format(of) if kind in SQL_BY_NAME else SQL.get(name)


# When events are dropped (and counted), these are lower than the truth.
LOWERED_BY_DROPS = {"allocated", "allocated_bytes", "freed", "leaked_blocks", "leaked_bytes"}


@dataclass
class Case:
    argv: list
    options: list = field(default_factory=list)  # of mtrace-record
    env: dict = field(default_factory=dict)
    expect: dict = field(default_factory=dict)  # beside, or instead of, what the workload prints; None: do not compare
    sql: dict = field(default_factory=dict)
    end: tuple = None  # (end_kind, end_value) of the first process; None: do not compare
    end_without_recorder: tuple = None
    may_drop: bool = False
    is_long: bool = False  # millions of events: not for readers in Python
    anomalies: tuple = ()  # keys of meta that may be more than zero
    least_events: int = 10
    leaves: tuple = ()  # files the program leaves whose content differs from run to run

    def own_env(self):
        """Environment variables that are not for mtrace."""
        return {name: value for name, value in self.env.items() if not name.startswith("MTRACE_")}


def plain(name, **more):
    return Case([name], **{"end": ("exit", 0), **more})


CASES = {name: plain(name) for name in (
    "threads", "short_threads", "cross_thread_free", "fork_alone", "unrecorded_child", "spawn_children", "longjmp_out",
    "realloc_edges", "alignments", "mappings", "mallopt_calls",
    "coroutines", "lost_neighbour", "exceptions", "thread_ends", "signal_stack", "signal_storm",
    "stack_holes", "stack_holes_without_tables", "holes_in_children", "kept_holes")}

# Groups, by line of the check list. The log of a child is compared if children are followed.
GROUP_CASES = {"t1_ids": "ids", "t2_nested": "nested", "t3_stale": "stale", "t4_tags": "tags", "t5_t6_ends": "ends", "t8_untracked": "untracked",
               "t9_switching": "switching", "t11_handed_over": "handed_over", "t12_late": "late", "phases": "phases", "deep_phases": "deep_phases", "switches": "many",
               "deep_scopes_of_a_crowd": "crowd", "calls_of_bytehound": "bytehound", "a_million_groups": "a_million"}
CASES |= {name: Case(["groups", part], end=("exit", 0), least_events=2, is_long=part == "a_million", expect={"child_group_bytes": None})
          for name, part in GROUP_CASES.items()}
CASES |= {"t11_in_child": Case(["groups", "handed_over"], options=["--follow-children"], end=("exit", 0))}
CASES |= {f"v9_pool_{part}": Case(["pools", part], end=("exit", 0), least_events=2, expect={"child_pool_bytes": None})
          for part in ("arena", "nested", "ends", "resize", "misuse", "threads", "late", "heaptrack")}
OBJECT_CASES = {"v1_v3_v7_v8_v14_every_call": "every_call", "v2_shared": "shared", "v4_bad_sizes": "bad_sizes", "v5_roots": "roots",
                "v6_v10_size_of_unique": "unique", "v9_arena": "arena", "v11_busy": "busy", "v12_not_called": "not_called", "v15_twice": "twice",
                "object_many_roots": "many_roots", "object_cycles": "cycles", "object_growth": "growth", "objects_of_a_crowd": "crowd"}
CASES |= {name: Case(["objects", part], end=("exit", 0), least_events=2) for name, part in OBJECT_CASES.items()}
CASES |= {"other_versions": Case(["other_versions"], least_events=2, end=("exit", 0))}
CASES |= {"objects_of_cxx": plain("containers"), "objects_of_containers": plain("container_table"),
          "objects_of_containers_cxx20": plain("container_table_cxx20"), "objects_of_sqlite": plain("sqlite_memory")}
CASES |= {"v9_pool_in_child": Case(["pools", "late"], options=["--follow-children"], end=("exit", 0))}
CASES |= {"charging_server": plain("charging_server"), "charges": plain("charges")}

# Trackers, by line of the check list. A marker has what the callback received: the threads of allocation and free.
TRACKER_CASES = {"t5_sizes_reported": "sizes", "t6_groups_reported": "groups", "t7_callback_allocates": "nested", "t7_callback_frees": "unreported",
                 "t8_t9_silent": "silent", "t10_replaced": "replaced", "t12_reported_late": "late", "callback_never_returns": "never_returns",
                 "reported_by_many_threads": "crowd", "reported_simultaneously": "at_once", "moves_reported": "moves", "moves_reported_by_many_threads": "moves_of_a_crowd"}
CASES |= {name: Case(["trackers", part], end=("exit", 0), least_events=2, may_drop=part == "never_returns",
                      # A free gets its timestamp without waiting (CK-1 of collector/os/clock.h): inversions are corrected and counted.
                      anomalies=("anomaly.clock_inversion",) if part in ("crowd", "at_once", "moves_of_a_crowd") else ())
          for name, part in TRACKER_CASES.items()}
CASES |= {"t12_reported_in_child": Case(["trackers", "late"], options=["--follow-children"], end=("exit", 0))}

STEPPED = [(what, does, stride) for what, stride in (("same", "1"), ("again", "1"), ("elsewhere", "1"), ("charged", "1"), ("heap", "1"), ("reported", "1"), ("named", "1"),
                                                     ("dead", "1"), ("first", "10"), ("last", "10"))
           for does in ("leave", "allocate", "fork") if does == "leave" or what not in ("again", "last")]

FORKED_BETWEEN = ("group", "intern", "marker", "phase", "pool", "handles", "counters", "objects", "setname", "prctl", "trim", "mallopt", "map", "dlclose",
                  "tracking", "child", "exec", "thread_end", "report", "message")

CASES |= {
    "fork_children": plain("fork_children"),
    "threads_in_children": Case(["threads_in_children"], options=["--follow-children"], end=("exit", 0)),
    # Neither known functions of an embedded allocator nor --zero-memory change the program.
    "inside_by_name": Case(["named_allocator"], options=["--zero-memory"], least_events=5, end=("exit", 0)),
    "touched_pages": plain("touched_pages"),
    # The same seen from outside of the program.
    "touched_pages_for_long": Case(["touched_pages", "300"], end=("exit", 0)),
    # A collector that locks around fork, or unwinds with a lock held, hangs in some of these.
    "many_forks": Case(["fork_children", "fork", "200"], end=("exit", 0)),
    "many_raw_forks": Case(["fork_children", "_Fork", "200"], end=("exit", 0)),
    "raw_fork_children": Case(["fork_children", "_Fork"], end=("exit", 0)),
    # A signal handler that interrupted the collector forks: the child continues in the interrupted code.
    **{f"fork_in_handler_{name}": Case(["fork_in_handler", *argv], end=("exit", 0), expect={"children_blocks": None})
       for name, argv in {"fork": ["fork", "200"], "atfork": ["atfork", "200"], "_Fork": ["_Fork", "200"],
                          "syscall": ["syscall", "200"], "threads": ["fork", "100", "400"]}.items()},
    # The same at each instruction of calls that describe the program (groups, markers, mappings, …).
    **{f"fork_in_handler_of_{what}": Case(["forked_between", what, "@/gaps_left.so"], end=("exit", 0), expect={"allocated": None}, least_events=1)
       for what in FORKED_BETWEEN},
    **{f"fork_in_handler_of_followed_{what}": Case(["forked_between", what], options=["--follow-children"], end=("exit", 0), may_drop=True, least_events=1)
       for what in ("marker", "group")},
    # A followed child has its own log from then on, which says how many events came before.
    **{f"fork_in_handler_followed_{how}": Case(["fork_in_handler", how, "40"], options=["--follow-children"], end=("exit", 0),
                                               may_drop=True) for how in ("fork", "atfork")},
    # The kernel reads the arguments of exec, and reports unreadable ones.
    "unreadable_exec": Case(["unreadable_exec"], end=("exit", 0), least_events=2),
    "unreadable_exec_followed": Case(["unreadable_exec"], options=["--follow-children", "--quiet"], end=("exit", 0), least_events=2),
    **{f"{name}_followed": Case([name], options=["--follow-children", "--quiet"], end=("exit", 0), least_events=2)
       for name in ("holes_in_children", "spawn_limits")},
    # Libraries bind to the program's symbols first, and the collector must not.
    "own_names": plain("own_names", end=("exit", 3)),
    "own_names_with_oracle": Case(["own_names"], options=["--unwinder=check"], end=("exit", 3)),
    "before_and_after_main": plain("before_and_after_main", end=("exit", 3)),
    # A signal handler leaves the interrupted code for good, or returns to it later.
    **{f"abandoned_{way}": Case(["abandoned", way], end=("exit", 0), may_drop=True, expect={"abandoned": 1}, sql={
        "abandoned": "SELECT value > 0 FROM meta WHERE key = 'events.dropped.abandoned'"})
       for way in ("own", "deep", "alternate", "coroutine")},
    # The abandoned code had opened a file, and mapped memory.
    **{f"abandoned_{what}": Case(["forked_between", what, "-", "leave"], end=("exit", 0), may_drop=True, expect={"allocated": None}, least_events=1)
       for what in ("trim", "report")},
    **{f"interrupted_{way}": Case(["abandoned", way], end=("exit", 0)) for way in ("handler", "piece", "switched")},
    # A signal handler does so at each instruction of a recording, one after another.
    **{f"stepped_{what}_{does}": Case(["stepped", what, does, stride], end=("exit", 0), may_drop=does == "leave",
                                           is_long=what in ("first", "last"))
       for what, does, stride in STEPPED},
    "deep_recursion": plain("deep_recursion", expect={"deepest": 1}),
    # Without --follow-children the log ends with the first image: 100 blocks of round 0, lost at exec but not leaked.
    "exec_again": plain("exec_again", end=("exec", None), expect={
        "allocated": 100, "allocated_bytes": 77700, "freed": None, "leaked_blocks": 0, "leaked_bytes": 0}),
    # The image after exec is privileged: the loader preloads nothing into it, and the log ends with the first image.
    "privileged_exec": Case(["privileged_exec", "copy"], end=("exec", None), leaves=("copy",), expect={
        "allocated": 10, "allocated_bytes": 17770, "freed": 0, "leaked_blocks": 0, "leaked_bytes": 0}),
    # Leak reports of a sanitizer name the callers of malloc, which include the collector. mtrace-record preloads the library that sees its operators,
    # and makes AddressSanitizer accept it: no bare preload of those.
    **{f"{name}_{sanitizer}_sanitizer": plain(
        f"{name}_{sanitizer}_sanitizer", env={"LSAN_OPTIONS": "detect_leaks=0"},
        options=["--quiet"] if name == "exceptions" or sanitizer == "address" else [])
       for sanitizer in ("address", "thread", "leak") for name in ("threads", "fork_alone", "exceptions")},
    "jemalloc_calls": plain("jemalloc_calls"),
    # One event for one call, even if the allocator calls its own exported functions.
    "nested_calls": plain("nested_calls"),
    "jemalloc_allocator": plain("jemalloc_allocator"),
    "tcmalloc_minimal_allocator": plain("tcmalloc_minimal_allocator"),
    "mimalloc_allocator": plain("mimalloc_allocator"),
    # Each malloc that fails before a new handler throws is a failure; operators of allocators call no malloc by name.
    "operators": plain("operators", expect={"failed": 12}),
    # Operators that do not call malloc by name. mtrace-record preloads the library that sees them: no bare preload.
    "jemalloc_operators": plain("jemalloc_operators", options=["--quiet"]),
    "tcmalloc_minimal_operators": plain("tcmalloc_minimal_operators", options=["--quiet"]),
    # mimalloc aborts if new finds no memory.
    "mimalloc_operators": Case(["mimalloc_operators", "enough"], options=["--quiet"], end=("exit", 0)),
    # The allocator is inside the executable, and its functions are redirected as mtrace-record planned: no bare preload.
    **{name: plain(name, options=["--quiet"]) for name in (
        "jemalloc_inside", "jemalloc_inside_fixed", "tcmalloc_inside", "jemalloc_inside_calls", "jemalloc_prefixed_rjem_",
        "jemalloc_prefixed_any_")},
    # An operator new that throws does not return to the collector: of two that find no memory, one is recorded as a failure.
    **{name: plain(name, options=["--quiet"], expect={"failed": 1})
       for name in ("jemalloc_inside_operators", "tcmalloc_inside_operators")},
    "leak_c": plain("leak_c"),
    "leak_cxx": plain("leak_cxx"),
    # The log cannot grow because its path leads nowhere; lost events are counted.
    "chroot_away": Case(["restricted", "root"], end=("exit", 0), may_drop=True),
    # A vfork child looks like its parent: its exec is not the end of the parent's image, but the parent's exec is.
    "seccomp_vfork": plain("seccomp_vfork"),
    "seccomp_vfork_exec": Case(["seccomp_vfork", "exec"], end=("exec", None), expect={"leaked_blocks": 0, "leaked_bytes": 0}),
    "seccomp_vfork_kill": Case(["seccomp_vfork", "kill"], end=("signal", 9)),
    "seccomp_filter": Case(["restricted", "filter"], end=("exit", 0), may_drop=True),
    # The thread exits by a bare system call, which the collector does not see.
    "seccomp_strict": Case(["restricted", "strict"], may_drop=True),
    **{f"seccomp_strict_{how}": Case(["restricted", "strict", how], may_drop=True) for how in ("syscall_prctl", "syscall_seccomp")},
    **{f"tsc_forbidden_{how}": Case(["restricted", "no_counter", how], end=("exit", 0)) for how in ("prctl", "syscall")},
    "tsc_forbidden_waiting": Case(["restricted", "no_counter"], end=("exit", 0), env={"MTRACE_DISABLE_BY_DEFAULT": "1", "MTRACE_SIGNAL_TOGGLE": "SIGUSR2"}),
    "limit_file_size": Case(["restricted", "file_size"], end=("exit", 0), may_drop=True),
    "limit_address_space": Case(["restricted", "address_space"], end=("exit", 0)),
    "close_descriptors": Case(["restricted", "descriptors"], end=("exit", 0)),
    "chdir_away": Case(["restricted", "directory"], end=("exit", 0)),
    "cancel_plugin": Case(["cancel_host", "@/cancel_plugin.so"], end=("exit", 0)),
    # System calls of libunwind are cancellation points in places where the program has none.
    "cancel_plugin_checked": Case(["cancel_host", "@/cancel_plugin.so"], env={"MTRACE_UNWINDER": "check"}, end=("exit", 0)),
    # Blocks freed by dlclose belong to its caller: no frame of mtrace is on any stack.
    "twin_libraries": Case(["twin_libraries", "@/twin_left.so", "@/twin_right.so"], end=("exit", 0), expect={"own_frames": 0}, sql={
        "own_frames": "SELECT count(*) FROM frames WHERE object_id IN (SELECT object_id FROM objects WHERE path LIKE '%libmtrace%')"}),
    # Without a build ID each opening is another module: more of them than can be loaded together.
    "many_twins": Case(["twin_libraries", "@/gaps_left.so", "@/gaps_right.so", "4200"], end=("exit", 0)),
    # 4096 modules loaded together are told apart: 100 more, and others met after them, are counted.
    "many_modules": Case(["many_modules", "@/twin_left.so", "4196"], end=("exit", 0), expect={"unnamed": 1},
                         sql={"unnamed": "SELECT value BETWEEN 100 AND 105 FROM meta WHERE key = 'modules.unnamed'"}),
    "converters": plain("converters"),
    "jit_code": plain("jit_code"),
    "jit_code_in_gap": Case(["jit_code_in_gap", "0x8000000"], end=("exit", 0)),
    "twins_with_gaps": Case(["twin_libraries", "@/gaps_left.so", "@/gaps_right.so"], end=("exit", 0)),
    # Only timestamps tell which thread had the block first: from the counter, from the kernel, and computed.
    "handover": plain("handover", is_long=True),
    "handover_monotonic": plain("handover", is_long=True, env={"MTRACE_CLOCK": "monotonic"}),
    "handover_without_tsc": Case(["handover", "no_tsc"], is_long=True, end=("exit", 0)),
    "handover_uncompressed": plain("handover", is_long=True, options=["--no-compress"]),
    "crossed_frees": plain("crossed_frees"),
    # Rows of temporary blocks are elided, those of blocks handed to other threads are not.
    "crossed_frees_elided": plain("crossed_frees", options=["--cull-temporary=1000"], expect={
        "allocated": None, "allocated_bytes": None, "freed": None, "leaked_blocks": 0, "leaked_bytes": 0, "many_elided": 1},
        sql={"many_elided": "SELECT sum(elided_blocks) > 100000 FROM backtrace_totals"}),
    "handover_elided": plain("handover", is_long=True, options=["--cull-temporary=1000"], expect={
        "allocated": None, "allocated_bytes": None, "freed": None}),
    "threads_at_once": Case(["many_threads", "at_once"], end=("exit", 0)),
    "threads_in_turn": Case(["many_threads", "in_turn"], end=("exit", 0), is_long=True),
    "end_return": Case(["ends", "return"], end=("exit", 4)),
    "end_exit": Case(["ends", "exit"], end=("exit", 1)),
    "end_immediate": Case(["ends", "_exit"], end=("exit", 2)),
    "end_quick": Case(["ends", "quick_exit"], end=("exit", 3)),
    "end_abort": Case(["ends", "abort"], end=("signal", 6)),
    "end_kill": Case(["ends", "kill"], end=("signal", 9), end_without_recorder=("unknown", None)),
    "end_segv": Case(["ends", "segv"], end=("signal", 11), end_without_recorder=("unknown", None)),
    "end_overflow": Case(["ends", "overflow"], end=("signal", 11), end_without_recorder=("unknown", None)),
    "end_term": Case(["ends", "term"], end=("signal", 15), end_without_recorder=("unknown", None)),
    "end_other_thread": Case(["ends", "thread"], end=("exit", 6)),
    "bad_frees": plain("bad_frees", anomalies=("anomaly.unknown_free", "anomaly.unknown_realloc")),
    # The log contains the free for which glibc aborts the process.
    "bad_frees_noticed": Case(["bad_frees", "noticed"], end=("signal", 6), least_events=5, anomalies=("anomaly.unknown_free",)),
    "no_free_stacks": Case(["threads"], options=["--no-free-backtraces"], end=("exit", 0)),
    "uncompressed": Case(["threads"], options=["--no-compress"], end=("exit", 0)),
}

# Their names contain their allocator.
for name, case in CASES.items():
    case.expect |= {"allocator": known for known in ("jemalloc", "tcmalloc", "mimalloc") if name.startswith(known)}
CASES["leak_c"].expect["allocator"] = "glibc"

# Cases that also run with a bare LD_PRELOAD; all others differ only in the process that packs the log.
WITHOUT_RECORDER = ("threads", "short_threads", "fork_alone", "fork_children", "spawn_children", "exec_again", "end_exit",
                    "end_immediate", "end_quick", "end_abort", "end_kill", "chdir_away", "close_descriptors", "many_forks", "signal_storm",
                    "seccomp_strict", "limit_file_size", "cancel_plugin", "leak_c")

if __name__ == "__main__":  # for the CMakeLists.txt here and in ../preload
    if sys.argv[1:] == ["--plain"]:
        print(";".join(name for name, case in CASES.items() if not case.options and not case.is_long), end="")
    else:
        print(";".join([f"record.{name}" for name in CASES] + [f"preload.{name}" for name in WITHOUT_RECORDER]), end="")
