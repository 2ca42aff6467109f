/* SPDX-License-Identifier: MIT */
/*
 * reference_names: our functions to which GOT slots are rebound (got_rebinding.h), except C++'s
 * operators.
 *
 * One thread. Cannot fail.
 */
#ifndef MTRACE_COLLECTOR_REFERENCE_NAMES_H
#define MTRACE_COLLECTOR_REFERENCE_NAMES_H

/* Only the first call has an effect. */
void reference_names_add(void);

#endif
