/* SPDX-License-Identifier: MIT */
/* handover: between the workload of that name and the allocator it brings along. */
#ifndef MTRACE_TESTS_HANDOVER_H
#define MTRACE_TESTS_HANDOVER_H

enum {
    HANDOVER_BYTES = 777, /* blocks of this size go round */
    HANDOVER_BLOCKS = 1,
};

#endif
