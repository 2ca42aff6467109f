/* SPDX-License-Identifier: MIT */
/*
 * patient_open: a log is opened without waiting for who it may be a pipe of, but for who has it leased.
 *
 * Model:   who asks whether anybody has a log open (writer_liveness_look_at_file) holds a lease of it for an instant. With O_NONBLOCK an open that goes against
 *          that fails at once; it is tried again until the lease is given back.
 * Threads: any. Failure: as open; EWOULDBLOCK after two seconds.
 */
#ifndef MTRACE_LIB_PATIENT_OPEN_H
#define MTRACE_LIB_PATIENT_OPEN_H

/* flags: with O_NONBLOCK, without O_CREAT. */
int patient_open(const char *path, int flags);

/* The same of a name in a folder. */
int patient_open_at(int folder, const char *name, int flags);

#endif
