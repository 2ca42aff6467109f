/* SPDX-License-Identifier: MIT */
/*
 * elf_file: the parts of an ELF file of 64 bits, wherever the file may lie about them.
 *
 * Model:   a file of which nothing is trusted, and which may be changed or cut while it is read: so
 *          what is looked at twice is copied.
 * Invariants
 *   EF-1 Nothing outside of the file is read; a part that does not lie inside is not there.
 * Failure: NULL, false.
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
    struct stat status; /* which file it is */
};

/* Answers a question about a file; NULL is an answer, too. */
typedef const char *elf_file_question(const struct elf_file *file, void *context);

/* What the question says of an ELF file of 64 bits; NULL for anything else. The path may be one that a
 * program wrote into its log. */
const char *elf_file_ask(const char *path, elf_file_question *question, void *context);

/* n bytes at an offset. */
const void *elf_file_at(const struct elf_file *file, uint64_t offset, uint64_t n);
bool elf_file_copy(const struct elf_file *file, uint64_t offset, void *ret_part, size_t n);

bool elf_file_get_segment(const struct elf_file *file, unsigned i, Elf64_Phdr *ret_segment);
bool elf_file_get_section(const struct elf_file *file, unsigned i, Elf64_Shdr *ret_section);

/* The segment that is loaded with the n bytes at an address in it; *ret_bytes: the first of them, and all
 * that follow up to the segment's end. */
bool elf_file_find_loaded(const struct elf_file *file, uint64_t address, uint64_t n,
                          Elf64_Phdr *ret_segment, const uint8_t **ret_bytes);

/* Tells every symbol that .symtab and .dynsym define, and whose name is shorter than ELF_FILE_NAME_BYTES,
 * until one is answered by false. */
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

/* A function, or the choice of one. */
bool elf_file_is_function(const Elf64_Sym *symbol);

#endif
