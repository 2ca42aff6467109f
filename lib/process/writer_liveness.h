/* SPDX-License-Identifier: MIT */
/*
 * running: can a process still write to a log, and if not, how did it end?
 *
 * Model:   the kernel is asked by pid, and /proc. A log names those who write it by their pids, which other processes have
 *          later: whoever started after the log began never wrote to it. A pid of another pid namespace says nothing
 *          here; of such a log it is asked who has the file open: who writes to it has it mapped, which counts as that. Where the file system
 *          does not tell, the process is looked for by its namespace and its pid there, which /proc shows to those above it.
 * Invariants
 *   RU-1 What cannot be known (no descriptor left, a /proc that hides others or is of another pid namespace than we are, a pid of a namespace
 *        that is not below ours, a file system that does not tell) is never taken for gone.
 *   RU-2 Of a log the pid of its program decides where it is one of our own pid namespace; the file is asked where that says nothing, and where
 *        that process has another file of that name mapped, of which this one may be a layer (overlayfs).
 *   RU-3 Where nothing else is known, a log that began before this machine did has no writer, unless other machines may write to that file system. While a
 *        program is recorded this is not asked: the clock may be set.
 * Threads: any.
 */
#ifndef MTRACE_LIB_WRITER_LIVENESS_H
#define MTRACE_LIB_WRITER_LIVENESS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <sys/types.h>

enum writer_liveness_state {
    WRITER_LIVENESS_GONE,
    WRITER_LIVENESS_THERE,
    WRITER_LIVENESS_UNKNOWN
};

/* A process that is no more than its exit status counts as gone, unless threads of it go on. */
enum writer_liveness_state writer_liveness_look(pid_t pid);

/* It is not gone, as far as can be known (RU-1). */
bool writer_liveness_is(pid_t pid);

/* The same of a pid that the header of a log names (its program's or its recorder's; 0: nobody):
 * not that of a later process with this pid. */
bool writer_liveness_writes(pid_t pid, const struct log_file *header);

/* The inode of our pid namespace, as log_file.pid_space has it; 0: not known. */
uint32_t writer_liveness_pid_space(void);

/* The pid of the header is, for all that is known, one of our own pid namespace. */
bool writer_liveness_knows_pid(const struct log_file *header);

/* Does somebody else have the file open, or mapped, so that he could write to it? Of a descriptor that can itself write
 * it is asked whether anybody has it open at all. Only its owner, or root, is told. */
enum writer_liveness_state writer_liveness_look_at_file(int fd);

/* What the process of the header is called here, where it is of a pid namespace below ours. WRITER_LIVENESS_GONE: there is none any more; else *ret_pid is
 * set with WRITER_LIVENESS_THERE only. The number of a namespace is given again to a later one: who has not mapped the log is another. */
enum writer_liveness_state writer_liveness_find_pid(const struct log_file *header, pid_t *ret_pid);

/* Is the program there that the header of the log in this file names? For who asks often, and knows it: a later process with its pid, or what it has
 * executed, is taken for it. */
enum writer_liveness_state writer_liveness_look_at_log(const struct log_file *header, int fd);

/* Is it there, and has it the log in this file? */
enum writer_liveness_state writer_liveness_look_at_writer(const struct log_file *header, int fd);

/* Does the process that the header calls its recorder pack the log in this file, which it has mapped then? Its pid may be of another pid
 * namespace than the program's, and is not seen then: the lock of the packed file tells of it (file_lock.h), or writer_liveness_heartbeats. */
enum writer_liveness_state writer_liveness_look_at_recorder(const struct log_file *header, int fd);

/* Does a recorder look at the raw log in this file, wherever it is? Takes a third of a second to say no. */
bool writer_liveness_heartbeats(int fd);

/* Has the process mapped the file that is open as fd? *ret_is_known (or NULL): it can be seen what it has mapped. */
bool writer_liveness_maps(pid_t pid, int fd, bool *ret_is_known);

/* Whether it has waited for children that did anything: what the kernel counted for it is theirs
 * too. True when it is not known. */
bool writer_liveness_has_waited(pid_t pid);

/* How a process ended that its parent has not waited for yet, as wait says; false: not known. */
bool writer_liveness_find_status(pid_t pid, int *ret_wait_status);

#endif
