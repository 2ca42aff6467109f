/* SPDX-License-Identifier: MIT */
/*
 * probe: called by the shapes at every place where a stack is checked. The runner compares the
 * stack that the unwinder under test finds with libunwind's. A shape may unwind, switch stacks or
 * run in handlers as it likes; it must only call through the pointer.
 */
#ifndef MTRACE_TESTS_UNWIND_PROBE_H
#define MTRACE_TESTS_UNWIND_PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef void probe_function(void);

/* Every library of shapes exports this one. */
__attribute__((visibility("default"))) void shapes_run(probe_function *probe);

#ifdef __cplusplus
}
#endif

#endif
