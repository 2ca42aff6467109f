/* SPDX-License-Identifier: MIT */
/*
 * mapped_path: LOG_DEF_PATH ids of the files that the program maps.
 *
 * Threads: any. Signals: safe. Failure: id 0, no path.
 */
#ifndef MTRACE_COLLECTOR_MAPPED_PATH_H
#define MTRACE_COLLECTOR_MAPPED_PATH_H

#include <stdint.h>

/* The id of the path that an open descriptor of the program leads to; its definition is committed.
 */
uint32_t mapped_path_id(int fd);

/* In a fork child. */
void mapped_path_forget(void);

#endif
