/* SPDX-License-Identifier: MIT */
#include "lib/logfile/image_modules.h"

#include "lib/logfile/image_format.h"

#include <elf.h>
#include <string.h>

enum {
    PAGE_BYTES = IMAGE_PAGE_WORDS * 8,
};

bool image_module_is_own(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && strncmp(name, "/libmtrace", 10) == 0 && strstr(name, ".so");
}

bool image_module_is_shared_memory(const char *path)
{
    static const char *const names[] = {"/dev/zero", "/dev/shm/", "/memfd:", "/SYSV"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(path, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

uint64_t image_module_end(const void *bytes, size_t n_bytes, uint64_t start)
{
    Elf64_Ehdr header;
    uint64_t end = 0;

    if (n_bytes < sizeof(header))
        return 0;
    memcpy(&header, bytes, sizeof(header));
    for (size_t i = 0; i < header.e_phnum; i++) {
        uint64_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
        Elf64_Phdr segment;

        if (at > n_bytes || n_bytes - at < sizeof(segment))
            break;
        memcpy(&segment, (const char *)bytes + at, sizeof(segment));
        if (segment.p_type == PT_LOAD && start + segment.p_vaddr + segment.p_memsz > end)
            end = start + segment.p_vaddr + segment.p_memsz;
    }
    return (end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}
