/* SPDX-License-Identifier: MIT */
#include "symbolizer/function_starts.h"

#include "lib/base/lower_bound.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERSION = 1,
    HEADER_BYTES = 12, /* version, three encodings, address of .eh_frame, number of functions */
    ENTRY_BYTES = 8
};

static bool find_header(Elf *elf, GElf_Phdr *ret_program)
{
    size_t n;

    for (size_t i = 0; elf_getphdrnum(elf, &n) == 0 && i < n && i < INT32_MAX; i++)
        if (gelf_getphdr(elf, (int)i, ret_program) && ret_program->p_type == PT_GNU_EH_FRAME)
            return true;
    return false;
}

static uint64_t start_of(const struct function_starts *starts, size_t function)
{
    int32_t offset;

    memcpy(&offset, starts->table + function * ENTRY_BYTES, sizeof(offset));
    return starts->base + (uint64_t)(int64_t)offset;
}

void function_starts_init(struct function_starts *starts, Elf *elf)
{
    GElf_Phdr program;
    Elf_Data *data;
    const unsigned char *header;
    uint32_t n_functions;

    memset(starts, 0, sizeof(*starts));
    if (!elf || !find_header(elf, &program) || program.p_filesz < HEADER_BYTES)
        return;
    data = elf_getdata_rawchunk(elf, (int64_t)program.p_offset, program.p_filesz, ELF_T_BYTE);
    header = data ? data->d_buf : NULL;
    if (!header || header[0] != VERSION || (header[1] & 0x0f) != DW_EH_PE_sdata4
        || header[2] != DW_EH_PE_udata4 || header[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return;
    memcpy(&n_functions, header + 8, sizeof(n_functions));
    if (n_functions > (program.p_filesz - HEADER_BYTES) / ENTRY_BYTES)
        return;
    starts->table = header + HEADER_BYTES;
    starts->n_functions = n_functions;
    starts->base = program.p_vaddr;
    starts->frames = dwarf_getcfi_elf(elf);
}

void function_starts_done(struct function_starts *starts)
{
    if (starts->frames)
        dwarf_cfi_end(starts->frames);
}

uint64_t function_starts_find(const struct function_starts *starts, uint64_t address)
{
    Dwarf_Frame *frame;
    size_t i;

    if (!starts->frames || dwarf_cfi_addrframe(starts->frames, address, &frame) != 0)
        return 0;
    free(frame);
    LOWER_BOUND(i, starts->n_functions, start_of(starts, i) <= address);
    return i > 0 ? start_of(starts, i - 1) : 0;
}
