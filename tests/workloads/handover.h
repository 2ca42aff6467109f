/* SPDX-License-Identifier: MIT */
/* handover: shared by the workload of that name and its allocator. */
#ifndef MTRACE_TESTS_HANDOVER_H
#define MTRACE_TESTS_HANDOVER_H

enum {
    HANDOVER_BYTES = 777, /* blocks of this size go round */
    HANDOVER_BLOCKS = 1,
};

#endif
