/* SPDX-License-Identifier: MIT */
#include "symbolizer/debuginfod_client.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* Declared as in the manual page debuginfod_find_debuginfo(3). */
struct debuginfod_functions {
    void *(*begin)(void);
    int (*find_debuginfo)(void *client, const unsigned char *build_id, int build_id_size,
                          char **path);
    int (*find_executable)(void *client, const unsigned char *build_id, int build_id_size,
                           char **path);
    void (*end)(void *client);
};

/* The library is never closed: it starts threads through libcurl. */
static bool load(struct debuginfod_functions *functions)
{
    void *library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (!library)
        return false;
    *(void **)&functions->begin = dlsym(library, "debuginfod_begin");
    *(void **)&functions->find_debuginfo = dlsym(library, "debuginfod_find_debuginfo");
    *(void **)&functions->find_executable = dlsym(library, "debuginfod_find_executable");
    *(void **)&functions->end = dlsym(library, "debuginfod_end");
    return functions->begin && functions->find_debuginfo && functions->find_executable
           && functions->end;
}

char *debuginfod_client_find(const char *build_id, bool is_object)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    struct debuginfod_functions functions;
    char *path = NULL;
    void *client;
    int fd;

    if (!urls || !*urls || !load(&functions))
        return NULL;
    client = functions.begin();
    if (!client)
        return NULL;
    /* Size 0: the id is hexadecimal text. */
    fd = (is_object ? functions.find_executable
                    : functions.find_debuginfo)(client, (const unsigned char *)build_id, 0, &path);
    functions.end(client);
    if (fd < 0)
        return NULL;
    close(fd);
    return path;
}
