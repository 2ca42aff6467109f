/* SPDX-License-Identifier: MIT */
/* The collector's reading of CFI against libdw's, at every address that begins a row of the loaded
 * libraries. */
#include "collector/unwind/cfi.h"
#include "tests/lib/unit.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An object of this process, in memory and as libdw opens it. */
struct object {
    struct cfi_section section;
    uintptr_t load_address;
    uintptr_t text_start, text_end;
    int fd;
    Elf *elf;
    Dwarf_CFI *cfi;
};

static struct object open_object(const char *name)
{
    struct object object = {.fd = -1};
    struct dl_find_object found;
    const void *function = dlsym(RTLD_DEFAULT, name);
    const ElfW(Ehdr) * header;
    const ElfW(Phdr) * programs;

    assert_int_equal(_dl_find_object((void *)(uintptr_t)function, &found), 0);
    header = found.dlfo_map_start;
    programs = (const void *)((const char *)header + header->e_phoff);
    object.load_address = found.dlfo_link_map->l_addr;
    object.section.hdr = (uintptr_t)found.dlfo_eh_frame;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        uintptr_t low = object.load_address + programs[i].p_vaddr;
        uintptr_t high = low + programs[i].p_filesz;
        if (programs[i].p_type != PT_LOAD)
            continue;
        if (object.section.hdr >= low && object.section.hdr < high) {
            object.section.low = low;
            object.section.high = high;
        }
        if (programs[i].p_flags & PF_X) {
            object.text_start = low;
            object.text_end = high;
        }
    }
    object.fd = open(found.dlfo_link_map->l_name, O_RDONLY);
    assert_true(object.fd >= 0);
    elf_version(EV_CURRENT);
    object.elf = elf_begin(object.fd, ELF_C_READ, NULL);
    object.cfi = dwarf_getcfi_elf(object.elf);
    assert_non_null(object.cfi);
    return object;
}

static void close_object(struct object *object)
{
    dwarf_cfi_end(object->cfi);
    elf_end(object->elf);
    close(object->fd);
}

static void assert_same_cfa(const struct cfi_rule *ours, Dwarf_Frame *frame, uintptr_t address)
{
    Dwarf_Op *ops;
    size_t n_ops;

    assert_int_equal(dwarf_frame_cfa(frame, &ops, &n_ops), 0);
    if (ours->kind == CFI_IS_EXPRESSION) {
        assert_true(n_ops > 1);
        return;
    }
    assert_int_equal(n_ops, 1);
    if (ops[0].atom == DW_OP_bregx) {
        assert_int_equal(ops[0].number, ours->n);
        assert_int_equal(ops[0].number2, ours->offset);
    } else {
        if (ops[0].atom != DW_OP_breg0 + ours->n || (int64_t)ops[0].number != ours->offset)
            fail_msg("CFA at %#lx", (unsigned long)address);
    }
}

static bool is_saved_at(const Dwarf_Op *ops, size_t n_ops, int64_t offset)
{
    if (n_ops < 1 || ops[0].atom != DW_OP_call_frame_cfa)
        return false;
    if (n_ops == 1)
        return offset == 0;
    return n_ops == 2 && ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == offset;
}

static bool is_same_rule(const struct cfi_rule *ours, const Dwarf_Op *ops, size_t n_ops,
                         const Dwarf_Op *memory)
{
    switch (ours->kind) {
    case CFI_UNSPECIFIED: /* libdw fills in the ABI's opinion here */
        return n_ops == 0 || ops[n_ops - 1].atom == DW_OP_stack_value;
    case CFI_SAME:
        return n_ops == 0 && ops == NULL;
    case CFI_UNDEFINED:
        return n_ops == 0 && ops == memory;
    case CFI_AT_CFA:
        return is_saved_at(ops, n_ops, ours->offset);
    case CFI_IN_REGISTER:
        return n_ops == 1
               && ((ops[0].atom == DW_OP_regx && ops[0].number == ours->n)
                   || ops[0].atom == DW_OP_reg0 + ours->n);
    default:
        return n_ops > 0;
    }
}

static void assert_same_row(const struct cfi_row *row, Dwarf_Frame *frame, uintptr_t address)
{
    assert_same_cfa(&row->cfa, frame, address);
    for (int number = 0; number < ARCH_N_REGISTERS; number++) {
        Dwarf_Op memory[3];
        Dwarf_Op *ops = NULL;
        size_t n_ops = 0;
        assert_int_equal(dwarf_frame_register(frame, number, memory, &ops, &n_ops), 0);
        if (!is_same_rule(&row->registers[number], ops, n_ops, memory))
            fail_msg("register %d at %#lx: our kind %u", number, (unsigned long)address,
                     row->registers[number].kind);
    }
}

/* Compares from row to row; where libdw has no frame, the collector must have none. */
static unsigned long compare_object(const char *function)
{
    static struct cfi_scratch scratch;
    static struct cfi_row row;
    struct object object = open_object(function);
    unsigned long n_rows = 0;
    uintptr_t at = object.text_start;

    while (at < object.text_end) {
        Dwarf_Frame *frame;
        Dwarf_Addr start;
        Dwarf_Addr end;
        bool is_signal_frame;
        enum cfi_result result = cfi_find_row(&object.section, at, &scratch, &row);
        if (dwarf_cfi_addrframe(object.cfi, at - object.load_address, &frame) != 0) {
            assert_int_equal(result, CFI_NO_ENTRY);
            at++;
            continue;
        }
        assert_int_equal(result, CFI_FOUND);
        assert_int_equal(dwarf_frame_info(frame, &start, &end, &is_signal_frame),
                         (int)row.return_column);
        assert_int_equal(is_signal_frame, row.is_signal_frame);
        assert_same_row(&row, frame, at);
        n_rows++;
        at = object.load_address + end;
        free(frame);
    }
    close_object(&object);
    return n_rows;
}

TEST(reads_libc_as_libdw_does)
{
    assert_in_range(compare_object("malloc"), 10000, 1000000);
}

TEST(reads_libdw_as_libdw_does)
{
    assert_in_range(compare_object("dwarf_cfi_addrframe"), 1000, 1000000);
}

TEST(reads_ld_so_as_libdw_does)
{
    assert_in_range(compare_object("__tls_get_addr"), 1000, 1000000);
}

/* A section cut at any byte gives an answer, and never a different row. */
TEST(survives_being_cut)
{
    static struct cfi_scratch scratch;
    static struct cfi_row row;
    static struct cfi_row cut_row;
    struct object object = open_object("dwarf_cfi_addrframe");
    struct cfi_section cut = object.section;
    uintptr_t address = (uintptr_t)dlsym(RTLD_DEFAULT, "dwarf_cfi_addrframe") + 1;

    assert_int_equal(cfi_find_row(&object.section, address, &scratch, &row), CFI_FOUND);
    for (cut.high = cut.hdr; cut.high < object.section.high; cut.high += 61)
        if (cfi_find_row(&cut, address, &scratch, &cut_row) == CFI_FOUND) {
            assert_int_equal(cut_row.start, row.start);
            assert_int_equal(cut_row.cfa.offset, row.cfa.offset);
        }
    close_object(&object);
}
