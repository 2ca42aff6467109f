/* SPDX-License-Identifier: MIT */
/*
 * file_state: detects that a file was replaced or changed.
 */
#ifndef MTRACE_SERVER_FILE_STATE_H
#define MTRACE_SERVER_FILE_STATE_H

#include <stdbool.h>
#include <sys/stat.h>

/* The file was replaced or changed. */
static inline bool file_state_has_changed(const struct stat *now, const struct stat *before)
{
    return now->st_dev != before->st_dev || now->st_ino != before->st_ino
           || now->st_size != before->st_size || now->st_mtim.tv_sec != before->st_mtim.tv_sec
           || now->st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

#endif
