/* SPDX-License-Identifier: MIT */
/*
 * file_lock: a file lock that shows that a packed log is still being written.
 *
 * The writer holds an exclusive lock. A reader tries a shared lock for a moment, so that readers do
 * not mistake each other for a writer. In that moment the writer may fail to get its lock; it then
 * tries again later.
 *
 * Any thread. On file systems without locks a file never seems locked.
 */
#ifndef MTRACE_LIB_FILE_LOCK_H
#define MTRACE_LIB_FILE_LOCK_H

#include <stdbool.h>

/* Holds the lock until the file is closed. False: another process has it just now; try again. True
 * also where there are no locks. */
bool file_lock_take(int fd);

/* Another process holds the lock of this open file. */
bool file_lock_is_held(int fd);

/* A process writes the file. Also true if this cannot be determined because no descriptor is
 * left. */
bool file_lock_is_taken(const char *path);

#endif
