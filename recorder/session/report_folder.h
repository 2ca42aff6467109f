/* SPDX-License-Identifier: MIT */
/*
 * report_folder: the folder for the database of a report.
 *
 * mtrace-record removes the folder and its content, however the process that used it ended. The
 * process that answers removes it, too, in case mtrace-record was killed.
 */
#ifndef MTRACE_RECORDER_REPORT_FOLDER_H
#define MTRACE_RECORDER_REPORT_FOLDER_H

#include <limits.h>

enum {
    REPORT_FOLDER_BYTES = PATH_MAX - 16 /* room for a file name */
};

struct report_folder {
    char path[REPORT_FOLDER_BYTES]; /* "": none */
};

/* $TMPDIR, or /tmp if that is not a writable folder. */
const char *report_folder_base(void);

/* Chooses an unused path; does not create it. 0, or an errno value. */
int report_folder_name(struct report_folder *folder);

/* Creates the folder. Call in the process that answers, so that none is left if mtrace-record is
 * killed before. 0, or an errno value. */
int report_folder_make(const struct report_folder *folder);

/* Takes an empty path. */
void report_folder_remove(struct report_folder *folder);

#endif
