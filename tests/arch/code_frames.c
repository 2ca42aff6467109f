/* SPDX-License-Identifier: MIT */
/*
 * code_frames FILE: what the instructions of a program or library reveal about the frame at each
 * return address (unwind_code.h). A line each: the address in the file, the register and offset of
 * the CFA, and where saved registers are, as seen from there. Only the address: the instructions
 * reveal nothing.
 */
#include "collector/unwind/unwind_code.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    INSTRUCTION_BYTES = 1 << ARCH_CODE_SHIFT, /* at least */
};

static void read_at(int file, void *ret_bytes, size_t n_bytes, ElfW(Off) offset)
{
    if (pread(file, ret_bytes, n_bytes, (off_t)offset) != (ssize_t)n_bytes) {
        perror("cannot read");
        exit(2);
    }
}

static void show_row(const struct cfi_row *row)
{
    printf(" %u %lld", row->cfa.n, (long long)row->cfa.offset);
    for (unsigned number = 0; number < ARCH_N_REGISTERS; number++)
        if (row->registers[number].kind == CFI_AT_CFA)
            printf(" %u %lld", number, (long long)row->registers[number].offset);
}

/* The code is read where it is mapped, at `code`, from where it is in the file by `bias`. */
static void show_frames(uintptr_t code, size_t n_bytes, uintptr_t bias)
{
    static struct unwind_code_scratch scratch;

    for (uintptr_t pc = code + INSTRUCTION_BYTES; pc < code + n_bytes; pc += INSTRUCTION_BYTES) {
        struct cfi_row row;
        if (!unwind_code_is_behind_call(pc))
            continue;
        printf("%llx", (unsigned long long)(pc - bias));
        if (unwind_code_find_row(pc - 1, code, &scratch, &row))
            show_row(&row);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    const int file = open(argv[argc > 1], O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;

    read_at(file, &header, sizeof(header), 0);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        uint8_t *code;
        read_at(file, &segment, sizeof(segment), header.e_phoff + i * sizeof(segment));
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        code = mmap(NULL, segment.p_filesz, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);
        if (code == MAP_FAILED)
            return 2;
        read_at(file, code, segment.p_filesz, segment.p_offset);
        show_frames((uintptr_t)code, segment.p_filesz, (uintptr_t)code - segment.p_vaddr);
    }
    return 0;
}
