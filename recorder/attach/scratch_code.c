/* SPDX-License-Identifier: MIT */
#include "recorder/attach/scratch_code.h"

#include "lib/base/file_io.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_SEGMENTS = 32,
    MAX_FUNCTIONS = 65536, /* real ones have a few hundred */
    /* DW_EH_PE_pcrel | sdata4, udata4, datarel | sdata4: the sorted table that every linker
     * makes. */
    FRAMES_ENCODING = 0x1b,
    COUNT_ENCODING = 0x03,
    TABLE_ENCODING = 0x3b,
};

struct loader {
    int fd;
    Elf64_Ehdr header;
    Elf64_Phdr segments[MAX_SEGMENTS];
};

static bool read_offset(const struct loader *loader, uint64_t offset, void *ret, size_t n)
{
    return pread(loader->fd, ret, n, (off_t)offset) == (ssize_t)n;
}

static bool read_at(const struct loader *loader, uint64_t address, void *ret, size_t n)
{
    for (unsigned i = 0; i < loader->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &loader->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr
            && address - segment->p_vaddr < segment->p_filesz)
            return read_offset(loader, segment->p_offset + (address - segment->p_vaddr), ret, n);
    }
    return false;
}

static bool read_headers(struct loader *loader)
{
    const Elf64_Ehdr *header = &loader->header;

    return read_offset(loader, 0, &loader->header, sizeof(loader->header))
           && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0
           && header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == EM_X86_64
           && header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum <= MAX_SEGMENTS
           && read_offset(loader, header->e_phoff, loader->segments,
                          header->e_phnum * sizeof(Elf64_Phdr));
}

/* 0: the entry point has another form. */
static uint64_t find_called(const struct loader *loader)
{
    static const uint8_t expected[] = {0x48, 0x89, 0xe7, 0xe8};
    uint8_t code[8];
    int32_t distance;

    if (!read_at(loader, loader->header.e_entry, code, sizeof(code))
        || memcmp(code, expected, sizeof(expected)) != 0)
        return 0;
    memcpy(&distance, code + sizeof(expected), sizeof(distance));
    return loader->header.e_entry + sizeof(code) + (uint64_t)(int64_t)distance;
}

static uint64_t find_table(const struct loader *loader)
{
    for (unsigned i = 0; i < loader->header.e_phnum; i++)
        if (loader->segments[i].p_type == PT_GNU_EH_FRAME)
            return loader->segments[i].p_vaddr;
    return 0;
}

/* The size of the function at this address, from its unwind table; 0: none begins there. */
static uint64_t find_size(const struct loader *loader, uint64_t function)
{
    struct {
        uint8_t version, frames_encoding, count_encoding, table_encoding;
        int32_t frames;
        uint32_t n;
    } head;

    struct {
        int32_t function, frame;
    } entry = {0, 0};

    struct {
        uint32_t length, common;
        int32_t function;
        uint32_t size;
    } frame;

    uint64_t table = find_table(loader);
    bool is_found = false;

    if (!table || !read_at(loader, table, &head, sizeof(head)) || head.version != 1
        || head.frames_encoding != FRAMES_ENCODING || head.count_encoding != COUNT_ENCODING
        || head.table_encoding != TABLE_ENCODING || head.n > MAX_FUNCTIONS)
        return 0;
    for (uint32_t i = 0; i < head.n && !is_found; i++)
        is_found = read_at(loader, table + sizeof(head) + i * sizeof(entry), &entry, sizeof(entry))
                   && table + (uint64_t)(int64_t)entry.function == function;
    table += (uint64_t)(int64_t)entry.frame;
    if (!is_found || !read_at(loader, table, &frame, sizeof(frame))
        || table + 8 + (uint64_t)(int64_t)frame.function != function)
        return 0;
    return frame.size;
}

bool scratch_code_find(const char *path, struct scratch_code *ret_code)
{
    struct loader loader;
    struct stat status;
    bool is_found;

    file_io_open_regular_foreign(path, &loader.fd, &status);
    if (loader.fd < 0)
        return false;
    ret_code->address = read_headers(&loader) ? find_called(&loader) : 0;
    is_found = ret_code->address && find_size(&loader, ret_code->address) >= SCRATCH_CODE_BYTES
               && read_at(&loader, ret_code->address, ret_code->bytes, SCRATCH_CODE_BYTES);
    close(loader.fd);
    return is_found;
}
