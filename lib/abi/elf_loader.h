/* SPDX-License-Identifier: MIT */
/*
 * elf_loader: which dynamic loader an executable asks for (PT_INTERP), and whether it is glibc's.
 *
 * Another loader ends a program into which the collector is preloaded. The caller reads the parts
 * of the file, which may have any content. Handles files of 32 and 64 bits of this machine's byte
 * order.
 */
#ifndef MTRACE_LIB_ELF_LOADER_H
#define MTRACE_LIB_ELF_LOADER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of a file. */
union elf_loader_file {
    Elf32_Ehdr narrow;
    Elf64_Ehdr wide;
};

union elf_loader_segment {
    Elf32_Phdr narrow;
    Elf64_Phdr wide;
};

enum {
    ELF_LOADER_MAX_SEGMENTS = 1024,
    ELF_LOADER_MAX_BYTES = 4 << 20, /* of a loader that is searched for its mark */
};

/* glibc's loader exports symbols of this version, and no other libc does. */
#define ELF_LOADER_MARK "GLIBC_PRIVATE"

/*
 * A prefix of the path in LD_PRELOAD for a program without a loader. It passes LD_PRELOAD on to
 * programs it starts, which may use any libc. glibc replaces $ORIGIN by a folder, from which these
 * steps lead to the root. Other loaders do not, find no such file, and continue silently.
 */
#define ELF_LOADER_8_UP "/../../../../../../../.."
#define ELF_LOADER_ROOT                                                                       \
    "$ORIGIN" ELF_LOADER_8_UP ELF_LOADER_8_UP ELF_LOADER_8_UP ELF_LOADER_8_UP ELF_LOADER_8_UP \
        ELF_LOADER_8_UP ELF_LOADER_8_UP ELF_LOADER_8_UP

/* n_bytes of the file are known. */
static inline bool elf_loader_is_elf(const union elf_loader_file *file, size_t n_bytes)
{
    const unsigned char *magic = file->narrow.e_ident;
    size_t least = magic[EI_CLASS] == ELFCLASS64 ? sizeof(file->wide) : sizeof(file->narrow);

    return n_bytes >= least && magic[0] == ELFMAG0 && magic[1] == ELFMAG1 && magic[2] == ELFMAG2
           && magic[3] == ELFMAG3;
}

static inline bool elf_loader_is_narrow(const union elf_loader_file *file)
{
    return file->narrow.e_ident[EI_CLASS] == ELFCLASS32;
}

/* Offset of the i-th program header; 0: there is no such header. */
static inline uint64_t elf_loader_segment_at(const union elf_loader_file *file, unsigned i)
{
    bool is_narrow = elf_loader_is_narrow(file);
    unsigned n = is_narrow ? file->narrow.e_phnum : file->wide.e_phnum;
    uint64_t first = is_narrow ? file->narrow.e_phoff : file->wide.e_phoff;
    uint64_t bytes = is_narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);

    return i < n && i < ELF_LOADER_MAX_SEGMENTS ? first + i * bytes : 0;
}

/* The segment is the name of the loader; returns its offset and size. */
static inline bool elf_loader_is_name(const union elf_loader_file *file,
                                      const union elf_loader_segment *segment, uint64_t *ret_at,
                                      uint64_t *ret_bytes)
{
    bool is_narrow = elf_loader_is_narrow(file);

    *ret_at = is_narrow ? segment->narrow.p_offset : segment->wide.p_offset;
    *ret_bytes = is_narrow ? segment->narrow.p_filesz : segment->wide.p_filesz;
    return (is_narrow ? segment->narrow.p_type : segment->wide.p_type) == PT_INTERP;
}

/* The last part of the path begins with prefix. */
static inline bool elf_loader_has_prefix(const char *path, const char *prefix)
{
    const char *name = path;

    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    while (*prefix && *name == *prefix) {
        name++;
        prefix++;
    }
    return *prefix == '\0';
}

/* By the name alone. A loader with neither name must be searched for ELF_LOADER_MARK. */
static inline bool elf_loader_is_glibc(const char *path)
{
    return elf_loader_has_prefix(path, "ld-linux");
}

static inline bool elf_loader_is_musl(const char *path)
{
    return elf_loader_has_prefix(path, "ld-musl");
}

#endif
