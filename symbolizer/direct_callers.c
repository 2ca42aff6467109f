/* SPDX-License-Identifier: MIT */
#include "symbolizer/direct_callers.h"

#include "lib/base/lower_bound.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/function_starts.h"

#include <gelf.h>
#include <string.h>

enum {
    X86_CALL = 0xe8,
    X86_JUMP = 0xe9,
    X86_BYTES = 5
};

struct scan {
    struct function_starts starts;
    struct direct_callers *list;
    size_t n;
};

static void see_call(struct scan *scan, uint64_t address, uint64_t target)
{
    struct direct_callers *found;
    uint64_t caller;
    size_t i;

    if (target < scan->list[0].start || target > scan->list[scan->n - 1].start)
        return;
    LOWER_BOUND(i, scan->n, scan->list[i].start < target);
    found = &scan->list[i];
    if (found->start != target || !found->is_short)
        return;
    caller = function_starts_find(&scan->starts, address);
    /* Calls of one function come one after the other. */
    found->n += caller != 0 && caller != target && caller != found->caller;
    found->caller = caller;
}

static void scan_x86(struct scan *scan, const unsigned char *code, size_t size, uint64_t address)
{
    for (size_t i = 0; i + X86_BYTES <= size; i++) {
        int32_t distance;

        if (code[i] != X86_CALL && code[i] != X86_JUMP)
            continue;
        memcpy(&distance, code + i + 1, sizeof(distance));
        see_call(scan, address + i, address + i + X86_BYTES + (uint64_t)(int64_t)distance);
    }
}

/* bl and b: 26 bits, in units of four bytes. */
static void scan_aarch64(struct scan *scan, const unsigned char *code, size_t size,
                         uint64_t address)
{
    for (size_t i = 0; i + sizeof(uint32_t) <= size; i += sizeof(uint32_t)) {
        uint32_t word;
        int64_t distance;

        memcpy(&word, code + i, sizeof(word));
        if ((word & 0x7c000000) != 0x14000000)
            continue;
        distance = (int64_t)((uint64_t)word << 38) >> 36;
        see_call(scan, address + i, address + i + (uint64_t)distance);
    }
}

static void scan_code(struct scan *scan, Elf *elf)
{
    GElf_Ehdr header;
    GElf_Phdr program;
    size_t n;

    if (!gelf_getehdr(elf, &header) || elf_getphdrnum(elf, &n) != 0)
        return;
    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        Elf_Data *data;

        if (!gelf_getphdr(elf, (int)i, &program) || program.p_type != PT_LOAD
            || !(program.p_flags & PF_X))
            continue;
        data = elf_getdata_rawchunk(elf, (int64_t)program.p_offset, program.p_filesz, ELF_T_BYTE);
        if (data && (header.e_machine == EM_X86_64 || header.e_machine == EM_386))
            scan_x86(scan, data->d_buf, data->d_size, program.p_vaddr);
        else if (data && header.e_machine == EM_AARCH64)
            scan_aarch64(scan, data->d_buf, data->d_size, program.p_vaddr);
    }
}

void direct_callers_count(const char *path, const char *build_id, size_t max_bytes,
                          struct direct_callers *list, size_t n)
{
    struct scan scan = {.list = list, .n = n};
    struct elf_image image;

    if (n == 0 || !build_id || !elf_image_open(path, &image))
        return;
    if (elf_image_has_build_id(&image, build_id)) {
        function_starts_init(&scan.starts, image.elf);
        for (size_t i = 0; i < n; i++)
            list[i].is_short =
                function_starts_find(&scan.starts, list[i].start + max_bytes) != list[i].start;
        scan_code(&scan, image.elf);
        function_starts_done(&scan.starts);
    }
    elf_image_close(&image);
}
