/* SPDX-License-Identifier: MIT */
/*
 * fault_point: where tests stop the recorder, to see that nothing is lost whatever it was doing.
 *
 * Model:   MTRACE_RECORD_FAULT=NAME[:N[:SIGNAL]] in the environment raises SIGNAL (SIGKILL unless
 *          given, as a number) the Nth time (first unless given) the point NAME is reached.
 *          Compiled in only with MTRACE_FAULT_POINTS, which test builds define.
 */
#ifndef MTRACE_LIB_FAULT_POINT_H
#define MTRACE_LIB_FAULT_POINT_H

#ifdef MTRACE_FAULT_POINTS
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
    (void)name;
}
#endif

#endif
