/* SPDX-License-Identifier: MIT */
#include "symbolizer/source_path.h"

#include <stdbool.h>
#include <string.h>

struct path {
    char *bytes;
    size_t length;
    size_t size;
    size_t kept; /* length of the "/" or "../.." in front that no ".." can remove */
};

static bool is_dots(const char *part, size_t size, size_t n_dots)
{
    return size == n_dots && !memcmp(part, "..", n_dots);
}

static void drop_last(struct path *path)
{
    while (path->length > path->kept && path->bytes[path->length - 1] != '/')
        path->length--;
    if (path->length > path->kept)
        path->length--;
}

static bool push(struct path *path, const char *part, size_t size)
{
    bool is_separated = path->length > 0 && path->bytes[path->length - 1] != '/';

    if (path->length + is_separated + size + 1 > path->size)
        return false;
    if (is_separated)
        path->bytes[path->length++] = '/';
    memcpy(path->bytes + path->length, part, size);
    path->length += size;
    return true;
}

static bool push_part(struct path *path, const char *part, size_t size)
{
    bool is_rooted = path->kept && path->bytes[0] == '/';

    if (size == 0 || is_dots(part, size, 1))
        return true;
    if (!is_dots(part, size, 2))
        return push(path, part, size);
    if (path->length > path->kept) {
        drop_last(path);
    } else if (!is_rooted) {
        if (!push(path, part, size))
            return false;
        path->kept = path->length;
    }
    return true;
}

static bool push_all(struct path *path, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "/");
        if (!push_part(path, text, size))
            return false;
        text += size + (text[size] == '/');
    }
    return true;
}

size_t source_path_normalize(const char *directory, const char *file, char *ret_path, size_t size)
{
    struct path path = {.bytes = ret_path, .size = size};
    const char *base = directory && file[0] != '/' ? directory : "";

    if (size < 2)
        return 0;
    if (file[0] == '/' || base[0] == '/') {
        path.bytes[path.length++] = '/';
        path.kept = 1;
    }
    if (!push_all(&path, base) || !push_all(&path, file))
        return 0;
    path.bytes[path.length] = '\0';
    return path.length;
}
