/* SPDX-License-Identifier: MIT */
/*
 * report_folder: where the database of a report lies while it is needed.
 *
 * Model: made by us and removed by us with all that is in it, however those ended who worked there. Who answers removes it, too, as
 *        we may have been killed by then.
 */
#ifndef MTRACE_RECORDER_REPORT_FOLDER_H
#define MTRACE_RECORDER_REPORT_FOLDER_H

#include <limits.h>

enum {
    REPORT_FOLDER_BYTES = PATH_MAX - 16 /* a name goes behind it */
};

struct report_folder {
    char path[REPORT_FOLDER_BYTES]; /* "": none */
};

/* $TMPDIR, or /tmp where that is no folder that we may write to. */
const char *report_folder_base(void);

/* A path that nobody has, of a folder that is not there yet. 0, or an errno value. */
int report_folder_name(struct report_folder *folder);

/* In who answers, so that none is left when we are killed before. 0, or an errno value. */
int report_folder_make(const struct report_folder *folder);

/* None is fine. */
void report_folder_remove(struct report_folder *folder);

#endif
