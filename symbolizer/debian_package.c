/* SPDX-License-Identifier: MIT */
#include "symbolizer/debian_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lists[] = "/var/lib/dpkg/info";

static bool holds_line(const char *text, size_t size, const char *line)
{
    size_t line_size = strlen(line);
    const char *found = text;
    const char *end = text + size;

    while ((found = memmem(found, (size_t)(end - found), line, line_size))) {
        const char *behind = found + line_size;
        if ((found == text || found[-1] == '\n') && (behind == end || *behind == '\n'))
            return true;
        found = behind;
    }
    return false;
}

static bool list_holds(int folder, const char *name, const char *line, const char *other)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    struct stat status;
    char *text = MAP_FAILED;
    bool holds = false;

    if (fd < 0)
        return false;
    if (!fstat(fd, &status) && status.st_size > 0)
        text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text != MAP_FAILED) {
        holds = holds_line(text, (size_t)status.st_size, line)
                || (other && holds_line(text, (size_t)status.st_size, other));
        munmap(text, (size_t)status.st_size);
    }
    close(fd);
    return holds;
}

/* /lib is a link to /usr/lib, but packages still list files under either name. */
static const char *other_spelling(const char *path, char *buffer, size_t size)
{
    if (!strncmp(path, "/usr/", 5))
        return path + 4;
    return (size_t)snprintf(buffer, size, "/usr%s", path) < size ? buffer : NULL;
}

/* Packages do not install into other folders; most recorded programs are there. */
static bool can_be_packaged(const char *path)
{
    static const char *const folders[] = {"/usr/", "/lib", "/bin/", "/sbin/", "/opt/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (!strncmp(path, folders[i], strlen(folders[i])))
            return true;
    return false;
}

/* "libc6:amd64.list" -> "libc6" */
static bool package_of_list(const char *list, char *ret_package, size_t size)
{
    size_t length = strcspn(list, ":");
    size_t suffix = strlen(list) - strlen(".list");

    if (length > suffix)
        length = suffix;
    if (length >= size)
        return false;
    memcpy(ret_package, list, length);
    ret_package[length] = '\0';
    return true;
}

bool debian_package_find(const char *path, char *ret_package, size_t size)
{
    char buffer[PATH_MAX];
    char *real = realpath(path, NULL);
    const char *wanted = real ? real : path;
    const char *other = other_spelling(wanted, buffer, sizeof(buffer));
    DIR *folder = can_be_packaged(wanted) ? opendir(lists) : NULL;
    struct dirent *entry;
    bool is_found = false;

    while (folder && !is_found && (entry = readdir(folder))) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && !strcmp(entry->d_name + length - 5, ".list")
            && list_holds(dirfd(folder), entry->d_name, wanted, other))
            is_found = package_of_list(entry->d_name, ret_package, size);
    }
    if (folder)
        closedir(folder);
    free(real);
    return is_found;
}

/* Manually maintained debug packages, older than the automatic ones. */
static const char *const in_main[][2] = {
    {"libc6", "libc6-dbg"},
    {"libc6-i386", "libc6-dbg"},
    {NULL, NULL},
};

bool debian_package_debug_name(const char *package, char *ret_name, size_t size,
                               bool *ret_is_in_main)
{
    for (size_t i = 0; in_main[i][0]; i++) {
        if (!strcmp(in_main[i][0], package)) {
            *ret_is_in_main = true;
            return (size_t)snprintf(ret_name, size, "%s", in_main[i][1]) < size;
        }
    }
    *ret_is_in_main = false;
    return (size_t)snprintf(ret_name, size, "%s-dbgsym", package) < size;
}
