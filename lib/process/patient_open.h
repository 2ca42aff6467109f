/* SPDX-License-Identifier: MIT */
/*
 * patient_open: opens a log; does not wait for a writer of a pipe, but waits for a lease to end.
 *
 * writer_liveness_look_at_file holds a lease of a log for a moment. An open with O_NONBLOCK that
 * conflicts with it fails immediately; these functions try again until the lease is released.
 *
 * Any thread. Fails like open; EWOULDBLOCK after two seconds.
 */
#ifndef MTRACE_LIB_PATIENT_OPEN_H
#define MTRACE_LIB_PATIENT_OPEN_H

/* flags: include O_NONBLOCK, without O_CREAT. */
int patient_open(const char *path, int flags);

/* The same for a name in a folder. */
int patient_open_at(int folder, const char *name, int flags);

#endif
