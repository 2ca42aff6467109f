/* SPDX-License-Identifier: MIT */
/*
 * fault_point: places where tests stop the recorder, to check that nothing is lost.
 *
 * MTRACE_RECORD_FAULT=NAME[:N[:SIGNAL]] in the environment raises SIGNAL (a number; default
 * SIGKILL) the Nth time (default: first) that the point NAME is reached. Compiled in only with
 * MTRACE_FAULT_POINTS, which test builds define.
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
