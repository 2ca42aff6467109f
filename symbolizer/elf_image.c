/* SPDX-License-Identifier: MIT */
#include "symbolizer/elf_image.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <linux/openat2.h>
#include <lzma.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

enum {
    LONGEST_BUILD_ID = 64,                   /* bytes; the linker's own are 8, 16 or 20 */
    LARGEST_MINIDEBUGINFO = 64 * 1024 * 1024 /* unpacked */
};

char *elf_image_format_build_id(const void *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = bytes;
    char *text = malloc(size * 2 + 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[byte[i] >> 4];
        text[2 * i + 1] = digits[byte[i] & 15];
    }
    text[2 * size] = '\0';
    return text;
}

static char *read_build_id(Elf *elf)
{
    const void *bytes = NULL;
    ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);

    if (size <= 0 || size > LONGEST_BUILD_ID)
        return NULL;
    return elf_image_format_build_id(bytes, (size_t)size);
}

static void name_architecture(const GElf_Ehdr *header, char ret_name[LOG_HEADER_ARCH_BYTES])
{
    static const unsigned char own_order =
        __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB;
    unsigned word_bytes = header->e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
    char buffer[LOG_HEADER_ARCH_BYTES];
    const char *name = log_header_arch_text(header->e_machine, word_bytes, buffer);

    snprintf(ret_name, LOG_HEADER_ARCH_BYTES, "%s",
             name && header->e_ident[EI_DATA] == own_order ? name : "");
}

/* Takes ownership of the contents of `image`, also on failure. */
static bool finish_open(struct elf_image *image)
{
    GElf_Ehdr header;

    if (image->elf && image->path && elf_kind(image->elf) == ELF_K_ELF
        && gelf_getehdr(image->elf, &header)) {
        image->build_id = read_build_id(image->elf);
        name_architecture(&header, image->architecture);
        return true;
    }
    elf_image_close(image);
    return false;
}

static bool is_file(int fd)
{
    struct stat status;

    return fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode);
}

/* A recording may name any path: a FIFO must not block, a device must not be touched. */
static const int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

static bool open_fd(int fd, const char *path, struct elf_image *ret_image)
{
    *ret_image = ELF_IMAGE_NONE;
    elf_version(EV_CURRENT);
    ret_image->fd = fd;
    if (!is_file(ret_image->fd)) {
        elf_image_close(ret_image);
        return false;
    }
    ret_image->elf = elf_begin(ret_image->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    ret_image->path = strdup(path);
    return finish_open(ret_image);
}

bool elf_image_open(const char *path, struct elf_image *ret_image)
{
    return open_fd(open(path, open_flags), path, ret_image);
}

/* -1: no such file, or the kernel cannot do it (before 5.6, or forbidden); then *ret_is_unable. */
static int open_in_root(const char *root, const char *path, bool *ret_is_unable)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)open_flags, .resolve = RESOLVE_IN_ROOT};
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root_fd < 0 ? -1 : (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

    *ret_is_unable = root_fd >= 0 && fd < 0 && (errno == ENOSYS || errno == EPERM);
    if (root_fd >= 0)
        close(root_fd);
    return fd;
}

bool elf_image_open_below(const char *root, const char *path, struct elf_image *ret_image)
{
    char full[PATH_MAX];
    bool is_unable;
    int fd;

    *ret_image = ELF_IMAGE_NONE;
    if (!root || !*root)
        return elf_image_open(path, ret_image);
    if ((size_t)snprintf(full, sizeof(full), "%s%s%s", root, path[0] == '/' ? "" : "/", path)
        >= sizeof(full))
        return false;
    fd = open_in_root(root, path, &is_unable);
    return open_fd(is_unable ? open(full, open_flags) : fd, full, ret_image);
}

static bool open_memory(char *bytes, size_t size, const char *name, struct elf_image *ret_image)
{
    elf_version(EV_CURRENT);
    ret_image->elf = elf_memory(bytes, size);
    ret_image->path = strdup(name);
    return finish_open(ret_image);
}

bool elf_image_open_memory(void *bytes, size_t n_bytes, const char *path,
                           struct elf_image *ret_image)
{
    *ret_image = ELF_IMAGE_NONE;
    return open_memory(bytes, n_bytes, path, ret_image);
}

/* The vdso has no length field; its section headers come last. */
static size_t vdso_size(const Elf64_Ehdr *header)
{
    return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

bool elf_image_open_vdso(struct elf_image *ret_image)
{
    char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);

    *ret_image = ELF_IMAGE_NONE;
    return vdso
           && open_memory(vdso, vdso_size((const Elf64_Ehdr *)(void *)vdso), "[vdso]", ret_image);
}

static Elf_Data *section_data(Elf *elf, const char *wanted)
{
    Elf_Scn *section = NULL;
    size_t names;
    GElf_Shdr header;

    if (elf_getshdrstrndx(elf, &names))
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && header.sh_type != SHT_NOBITS && !strcmp(name, wanted))
            return elf_getdata(section, NULL);
    }
    return NULL;
}

/* The unpacked size is unknown, so the buffer doubles until it fits. */
static uint8_t *unpack(const Elf_Data *data, size_t *ret_size)
{
    lzma_ret status = LZMA_BUF_ERROR;
    uint8_t *bytes = NULL;

    for (size_t size = data->d_size * 4; status == LZMA_BUF_ERROR && size < LARGEST_MINIDEBUGINFO;
         size *= 2) {
        uint64_t memory_limit = UINT64_MAX;
        size_t read = 0;
        free(bytes);
        bytes = malloc(size);
        *ret_size = 0;
        status = bytes ? lzma_stream_buffer_decode(&memory_limit, 0, NULL, data->d_buf, &read,
                                                   data->d_size, bytes, ret_size, size)
                       : LZMA_MEM_ERROR;
    }
    if (status == LZMA_OK)
        return bytes;
    free(bytes);
    return NULL;
}

bool elf_image_open_minidebuginfo(const struct elf_image *image, struct elf_image *ret_image)
{
    Elf_Data *data = section_data(image->elf, ".gnu_debugdata");
    uint8_t *bytes;
    size_t size;

    *ret_image = ELF_IMAGE_NONE;
    bytes = data && data->d_buf && data->d_size ? unpack(data, &size) : NULL;
    if (!bytes)
        return false;
    ret_image->memory = bytes;
    return open_memory((char *)bytes, size, image->path, ret_image);
}

bool elf_image_has_dwarf(const struct elf_image *image)
{
    return section_data(image->elf, ".debug_info") || section_data(image->elf, ".zdebug_info");
}

/* The compression of a section that libelf cannot decompress; 0: none. libelf clears the mark of a
 * section that it decompressed. A ZLIB section that fails is damaged. */
static unsigned packed_by(Elf_Scn *section)
{
    GElf_Shdr header;
    GElf_Chdr packed;

    return gelf_getshdr(section, &header) && (header.sh_flags & SHF_COMPRESSED)
                   && gelf_getchdr(section, &packed) && packed.ch_type != ELFCOMPRESS_ZLIB
                   && elf_compress(section, 0, 0) < 0
               ? packed.ch_type
               : 0;
}

unsigned elf_image_packed_by(const struct elf_image *image)
{
    Elf_Scn *section = NULL;
    unsigned type = 0;

    while (type == 0 && (section = elf_nextscn(image->elf, section)))
        type = packed_by(section);
    return type;
}

bool elf_image_has_build_id(const struct elf_image *image, const char *build_id)
{
    return build_id && image->build_id && !strcmp(build_id, image->build_id);
}

static bool is_same_program(const GElf_Phdr *a, const GElf_Phdr *b)
{
    return a->p_type == b->p_type && a->p_flags == b->p_flags && a->p_offset == b->p_offset
           && a->p_vaddr == b->p_vaddr && a->p_filesz == b->p_filesz && a->p_memsz == b->p_memsz;
}

static bool is_same_section(Elf *a, Elf *b, const char *name)
{
    const Elf_Data *in_a = section_data(a, name);
    const Elf_Data *in_b = section_data(b, name);

    if (!in_a || !in_b)
        return true;
    return in_a->d_size == in_b->d_size
           && (in_a->d_size == 0 || memcmp(in_a->d_buf, in_b->d_buf, in_a->d_size) == 0);
}

bool elf_image_is_same_build(const struct elf_image *a, const struct elf_image *b)
{
    size_t n_a;
    size_t n_b;

    if (elf_getphdrnum(a->elf, &n_a) || elf_getphdrnum(b->elf, &n_b) || n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a && i < INT_MAX; i++) {
        GElf_Phdr in_a;
        GElf_Phdr in_b;
        if (!gelf_getphdr(a->elf, (int)i, &in_a) || !gelf_getphdr(b->elf, (int)i, &in_b)
            || !is_same_program(&in_a, &in_b))
            return false;
    }
    return is_same_section(a->elf, b->elf, ".dynsym") && is_same_section(a->elf, b->elf, ".dynstr")
           && is_same_section(a->elf, b->elf, ".symtab");
}

bool elf_image_checksum(const struct elf_image *image, uint32_t *ret_checksum)
{
    unsigned char buffer[16 * 1024];
    uLong checksum = crc32(0, NULL, 0);
    off_t offset = 0;
    ssize_t n_read;

    while ((n_read = pread(image->fd, buffer, sizeof(buffer), offset)) > 0) {
        checksum = crc32(checksum, buffer, (uInt)n_read);
        offset += n_read;
    }
    *ret_checksum = (uint32_t)checksum;
    return n_read == 0;
}

void elf_image_close(struct elf_image *image)
{
    if (image->elf)
        elf_end(image->elf);
    if (image->fd >= 0)
        close(image->fd);
    free(image->path);
    free(image->build_id);
    free(image->memory);
    *image = ELF_IMAGE_NONE;
}

static const struct known_machine {
    uint16_t number;
    struct elf_machine machine;
} known_machines[] = {
    {EM_ARM, {.mode_bits = 1, .call_bytes = 1}},
    {EM_MIPS, {.mode_bits = 1, .call_bytes = 8}},
};

struct elf_machine elf_image_machine(Elf *elf)
{
    GElf_Ehdr header;

    if (elf && gelf_getehdr(elf, &header))
        for (size_t i = 0; i < sizeof(known_machines) / sizeof(known_machines[0]); i++)
            if (known_machines[i].number == header.e_machine)
                return known_machines[i].machine;
    return (struct elf_machine){.mode_bits = 0, .call_bytes = 1};
}
