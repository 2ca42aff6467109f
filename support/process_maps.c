/* SPDX-License-Identifier: MIT */
#include "support/process_maps.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

bool process_maps_parse(char *line, struct process_mapping *ret_mapping)
{
    unsigned major, minor;
    int at = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
               &ret_mapping->start, &ret_mapping->end, ret_mapping->permissions,
               &ret_mapping->offset, &major, &minor, &ret_mapping->inode, &at)
            != 7
        || at == 0)
        return false;
    ret_mapping->device = makedev(major, minor);
    ret_mapping->path = line + at + strspn(line + at, " ");
    return true;
}

bool process_maps_visit(pid_t pid,
                        bool (*visit)(const struct process_mapping *mapping, void *context),
                        void *context)
{
    char path[64];
    char line[PATH_MAX + 128];
    struct process_mapping mapping;
    bool goes_on = true;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    while (goes_on && fgets(line, sizeof(line), file))
        goes_on = !process_maps_parse(line, &mapping) || visit(&mapping, context);
    fclose(file);
    return true;
}
