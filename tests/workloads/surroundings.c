/* SPDX-License-Identifier: MIT */
/*
 * Prints everything a program can see of itself that a collector might change: environment,
 * descriptors, threads, signal dispositions and mask, limits, what the allocator gives.
 */
#include "tests/workloads/workload.h"

#include <dirent.h>
#include <malloc.h>
#include <string.h>

extern char **environ;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        printf("environment %s\n", *variable);
}

static void show_descriptors(void)
{
    char *lines[256];
    size_t n_lines = 0;
    DIR *directory = opendir("/proc/self/fd");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char path[64];
        char target[200] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
        if (entry->d_name[0] != '.' && n_lines < 256 && readlink(path, target, 199) >= 0
            && strstr(target, "/proc/") == NULL && strstr(target, "pipe:") == NULL) {
            char line[256];
            snprintf(line, sizeof(line), "descriptor %s %s\n", entry->d_name, target);
            lines[n_lines++] = strdup(line);
        }
    }
    closedir(directory);
    qsort(lines, n_lines, sizeof(*lines), by_text);
    for (size_t i = 0; i < n_lines; i++) {
        fputs(lines[i], stdout);
        free(lines[i]);
    }
}

static void show_status(void)
{
    static const char *const wanted[] = {"Threads:", "Sig", "Shd", "Seccomp:", "Name:", "Umask:"};
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof(line), status) != NULL)
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (strncmp(line, wanted[i], strlen(wanted[i])) == 0 && strncmp(line, "SigQ", 4) != 0)
                fputs(line, stdout);
    fclose(status);
}

static void show_limits(void)
{
    char line[256];
    FILE *limits = fopen("/proc/self/limits", "r");
    while (limits != NULL && fgets(line, sizeof(line), limits) != NULL)
        fputs(line, stdout);
    fclose(limits);
}

static void show_allocator(void)
{
    for (size_t size_bytes = 0; size_bytes < 300000; size_bytes = size_bytes * 5 / 4 + 1) {
        void *block = malloc(size_bytes);
        printf("malloc(%zu): %zu usable, %zu past a multiple of 4096\n", size_bytes,
               malloc_usable_size(block), size_bytes > 200000 ? (size_t)block % 4096 : 0);
        free(block);
    }
}

int main(void)
{
    char place[4096];
    printf("directory %s\n", getcwd(place, sizeof(place)) != NULL ? place : "none");
    show_environment();
    show_descriptors();
    show_status();
    show_limits();
    show_allocator();
    return 0;
}
