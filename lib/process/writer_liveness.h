/* SPDX-License-Identifier: MIT */
/*
 * writer_liveness: can a process still write to a log, and if not, how did it end?
 *
 * A log names its writers by PID. A PID alone is not enough:
 *   - It may have been reused: a process that started after the log was created is not the writer.
 *   - It may belong to another PID namespace. Then the question is which process has the file open;
 *     a writer has it mapped, which counts as open.
 *     If the file system does not report that, it is unknown.
 *
 * A packed log has a file lock while it is written. The writer holds an exclusive lock. A reader
 * tries a shared lock for a moment, so that readers do not mistake each other for a writer. In that
 * moment the writer may fail to get its lock; it then tries again later.
 *
 * writer_liveness_of_file holds a lease of a log for a moment. An open with O_NONBLOCK that
 * conflicts with it fails immediately. So logs are opened by writer_liveness_open, which tries
 * again until the lease is released, and does not wait for a writer of a pipe.
 *
 * Invariants
 *   RU-1 What cannot be determined is never taken for dead: no descriptor left, a hidden or foreign
 *        /proc, another PID namespace on a file system that does not report.
 *   RU-2 If the program belongs to our PID namespace, its PID decides. The file decides if the
 *        PID is not known here, or if the process maps another file of this name: overlayfs copies
 *        a file when it is written.
 *   RU-3 If nothing else is known, a log older than the boot of this machine has no writer, unless
 *        other machines may write to that file system. This is not used while a program is
 *        recorded: the clock may be set.
 *
 * Any thread.
 */
#ifndef MTRACE_LIB_WRITER_LIVENESS_H
#define MTRACE_LIB_WRITER_LIVENESS_H

#include "lib/abi/log_format.h"

#include <stdbool.h>
#include <sys/types.h>

enum writer_liveness_state {
    WRITER_LIVENESS_DEAD,
    WRITER_LIVENESS_ALIVE,
    WRITER_LIVENESS_UNKNOWN
};

/* A zombie counts as dead, unless threads of it still run. */
enum writer_liveness_state writer_liveness_of_pid(pid_t pid);

/* The process is alive, or this cannot be determined (RU-1). */
bool writer_liveness_is_alive(pid_t pid);

/* The same for a PID in the header of a log (program or recorder; 0: none). A later process with
 * this PID does not count. */
bool writer_liveness_writes(pid_t pid, const struct log_header *header);

/* The inode of our PID namespace, as in log_header.pid_space; 0: unknown. */
uint32_t writer_liveness_pid_space(void);

/* As far as known, the PIDs in the header belong to our PID namespace. */
bool writer_liveness_knows_pid(const struct log_header *header);

/* Does another process have the file open or mapped so that it can write to it? If fd itself is
 * writable: does another process have it open at all? Only the owner of the file, or root, can find
 * out. */
enum writer_liveness_state writer_liveness_of_file(int fd);

/* Is the program that the header names alive? For frequent calls about a known program: a later
 * process with its PID, or an image that it executed, counts as the program. */
enum writer_liveness_state writer_liveness_of_program(const struct log_header *header, int fd);

/* Is it alive, and has it mapped the log in this file? */
enum writer_liveness_state writer_liveness_of_writer(const struct log_header *header, int fd);

/* Does the recorder that the header names pack the log in this file? It then has the file mapped. A
 * PID of another namespace than the program's is not found; use the lock of the packed file
 * (file_lock_is_taken) or recorder_heartbeat_advances. */
enum writer_liveness_state writer_liveness_of_recorder(const struct log_header *header, int fd);

/* Does a recorder, in whatever namespace, update the heartbeat of this raw log? Takes a third of a
 * second to say no. */
bool recorder_heartbeat_advances(int fd);

/* Has the process mapped the file that is open as fd? *ret_is_known (or NULL): its mappings are
 * visible. */
bool writer_liveness_maps(pid_t pid, int fd, bool *ret_is_known);

/* Has it waited for children that used processor time? The kernel adds their counters to its own.
 * True if unknown. */
bool writer_liveness_has_waited(pid_t pid);

/* The wait status of a process that its parent has not waited for yet; false: unknown. */
bool writer_liveness_find_status(pid_t pid, int *ret_wait_status);

/* ---- the lock of a packed log ---- */

/* Holds the lock until the file is closed. False: another process has it just now; try again. True
 * also where there are no locks: there a file never seems locked. */
bool file_lock_take(int fd);

/* Another process holds the lock of this open file. */
bool file_lock_is_held(int fd);

/* A process writes the file. Also true if this cannot be determined because no descriptor is
 * left. */
bool file_lock_is_taken(const char *path);

/* ---- opening a log ---- */

/* flags: include O_NONBLOCK, without O_CREAT. Fails like open; EWOULDBLOCK after two seconds. */
int writer_liveness_open(const char *path, int flags);

/* The same for a name in a folder. */
int writer_liveness_open_at(int folder, const char *name, int flags);

#endif
