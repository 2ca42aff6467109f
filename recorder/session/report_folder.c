/* SPDX-License-Identifier: MIT */
#include "recorder/session/report_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_TRIES = 8 /* a killed process may still create or remove one file */
};

const char *report_folder_base(void)
{
    const char *base = getenv("TMPDIR");

    return base && *base && access(base, W_OK | X_OK) == 0 ? base : "/tmp";
}

int report_folder_name(struct report_folder *folder)
{
    uint64_t number;
    int n;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return errno;
    n = snprintf(folder->path, sizeof folder->path, "%s/mtrace-%016" PRIx64, report_folder_base(),
                 number);
    return n < 0 || (size_t)n >= sizeof folder->path ? ENAMETOOLONG : 0;
}

int report_folder_make(const struct report_folder *folder)
{
    return mkdir(folder->path, 0700) == 0 ? 0 : errno;
}

static void empty(const char *path)
{
    DIR *files = opendir(path);
    const struct dirent *file;

    while (files && (file = readdir(files)))
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0)
            (void)unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
}

void report_folder_remove(struct report_folder *folder)
{
    for (unsigned i = 0; i < MOST_TRIES && *folder->path; i++) {
        if (rmdir(folder->path) == 0 || errno == ENOENT)
            break;
        empty(folder->path);
    }
    folder->path[0] = '\0';
}
