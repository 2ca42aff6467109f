/* SPDX-License-Identifier: MIT */
/*
 * reference_names: the functions of ours to which references of modules are led (got_rebinding.h), but for C++'s operators.
 *
 * Threads: one. Failure: none.
 */
#ifndef MTRACE_COLLECTOR_REFERENCE_NAMES_H
#define MTRACE_COLLECTOR_REFERENCE_NAMES_H

/* Only the first call counts. */
void reference_names_add(void);

#endif
