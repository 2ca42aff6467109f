/* SPDX-License-Identifier: MIT */
/*
 * elf_file: the parts of an untrusted 64-bit ELF file.
 *
 * The file may be changed or truncated while it is read, so anything that is used twice is copied.
 *
 * Invariants
 *   EF-1 Nothing outside the file is read; a part that does not lie inside it is treated as
 *        missing.
 *
 * Errors: NULL, false.
 */
#ifndef MTRACE_RECORDER_ELF_FILE_H
#define MTRACE_RECORDER_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_file {
    const uint8_t *bytes;
    size_t n_bytes;
    struct stat status; /* identifies the file */
};

/* A callback that inspects a file; its result may be NULL. */
typedef const char *elf_file_reader(const struct elf_file *file, void *context);

/* Calls the callback for a 64-bit ELF file and returns its result; NULL for any other file. The
 * path may come from a program's log. */
const char *elf_file_read(const char *path, elf_file_reader *reader, void *context);

/* n bytes at an offset. */
const void *elf_file_at(const struct elf_file *file, uint64_t offset, uint64_t n);
bool elf_file_copy(const struct elf_file *file, uint64_t offset, void *ret_part, size_t n);

bool elf_file_get_segment(const struct elf_file *file, unsigned i, Elf64_Phdr *ret_segment);
bool elf_file_get_section(const struct elf_file *file, unsigned i, Elf64_Shdr *ret_section);

/* The loaded segment that has these n bytes at an address. *ret_bytes: the first of them, followed
 * by the rest of the segment. */
bool elf_file_find_loaded(const struct elf_file *file, uint64_t address, uint64_t n,
                          Elf64_Phdr *ret_segment, const uint8_t **ret_bytes);

/* Calls `visit` for each symbol that .symtab and .dynsym define with a name shorter than
 * ELF_FILE_NAME_BYTES, until it returns false. */
enum {
    ELF_FILE_NAME_BYTES = 64
};

struct elf_file_symbol {
    char name[ELF_FILE_NAME_BYTES];
    Elf64_Sym symbol;
    bool is_dynamic;
};

typedef bool elf_file_visit(const struct elf_file_symbol *symbol, void *context);
void elf_file_visit_symbols(const struct elf_file *file, elf_file_visit *visit, void *context);

/* A function or an IFUNC. */
bool elf_file_is_function(const Elf64_Sym *symbol);

#endif
