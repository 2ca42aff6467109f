/* SPDX-License-Identifier: MIT */
/*
 * stepper: a signal at each instruction of the collector.
 *
 * Model:   a child process traces this one. Between stepper_look and stepper_end it steps the
 *          calling thread through a call and keeps the instructions of libmtrace.so as points: an
 *          instruction that runs often is one at its first, second and last time. Between
 *          stepper_begin and stepper_end, around the same call, the thread runs into a breakpoint
 *          at one of the points, and gets SIGUSR1 there.
 * Threads: one at a time. Failure: stepper_start says so.
 */
#ifndef MTRACE_TESTS_STEPPER_H
#define MTRACE_TESTS_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

/* Call it before there is a second thread. Returns false if tracing is not permitted. */
bool stepper_start(void);
void stepper_stop(void);

/* An instruction, before it runs for the given time. */
struct stepper_point {
    uintptr_t rip;
    unsigned time;
};

/* The points of the following call; empty before stepper_end. */
void stepper_look(void);
unsigned stepper_n_points(void);
struct stepper_point stepper_point(unsigned i);

/* SIGUSR1 comes at that point. */
void stepper_begin(struct stepper_point point);

/* After either, once; returns false if the signal did not come. */
bool stepper_end(void);

#endif
