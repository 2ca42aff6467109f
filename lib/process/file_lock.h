/* SPDX-License-Identifier: MIT */
/*
 * file_lock: by which others see that a packed log is still being written.
 *
 * Model:   who writes it holds an exclusive lock while he does. Who looks tries a shared one for an instant, so that others who
 *          look are not taken for a writer; an instant in which the writer may not get his, who then tries it again later.
 * Threads: any. Some file systems have no locks: nothing is ever held there.
 */
#ifndef MTRACE_LIB_FILE_LOCK_H
#define MTRACE_LIB_FILE_LOCK_H

#include <stdbool.h>

/* Until the file is closed. false: somebody has it right now, try it again; true, too, where there are no locks. */
bool file_lock_take(int fd);

/* Somebody else has it, of a file that is open. */
bool file_lock_is_held(int fd);

/* Somebody writes the file; also true where that cannot be known, as there is no descriptor left to look with. */
bool file_lock_is_taken(const char *path);

#endif
