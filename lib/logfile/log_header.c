/* SPDX-License-Identifier: MIT */
#include "lib/logfile/log_header.h"

#include "lib/base/file_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const struct arch_name {
    uint16_t arch;
    uint8_t word_bytes;
    const char *name;
} arch_names[] = {

#define ARCH_NAME(arch, word_bytes, name, triplet) {arch, word_bytes, name},
    LOG_MACHINES(ARCH_NAME)
#undef ARCH_NAME
};

const char *log_header_arch_text(unsigned arch, unsigned word_bytes,
                                 char buffer[LOG_HEADER_ARCH_BYTES])
{
    for (size_t i = 0; i < sizeof(arch_names) / sizeof(arch_names[0]); i++)
        if (arch_names[i].arch == arch && arch_names[i].word_bytes == word_bytes)
            return arch_names[i].name;
    snprintf(buffer, LOG_HEADER_ARCH_BYTES, "machine %u", arch);
    return arch ? buffer : NULL;
}

static int check_byte_order(const struct log_header *header, const char *path, struct error *err)
{
    struct log_header own;

    log_file_set_machine(&own);
    if (header->byte_order == own.byte_order)
        return 0;
    if (header->byte_order == LOG_BIG_ENDIAN || header->byte_order == LOG_LITTLE_ENDIAN)
        return error_set(err, ERROR_FORMAT,
                         "'%s' was recorded on a %s-endian machine, and this one is not; import it "
                         "on such a machine",
                         path, header->byte_order == LOG_BIG_ENDIAN ? "big" : "little");
    if (header->byte_order == 0
        && header->word_bytes == 0) /* from a version whose headers had neither field */
        return error_set(err, ERROR_VERSION,
                         "'%s' was recorded by an older version of mtrace; record again", path);
    return error_set_offset(err, ERROR_FORMAT, offsetof(struct log_header, byte_order),
                            "'%s' has a damaged header: byte order is %u", path,
                            (unsigned)header->byte_order);
}

int log_header_check(const struct log_header *header, const char *path, struct error *err)
{
    int r = check_byte_order(header, path, err);

    if (r != 0)
        return r;
    if (header->version > LOG_VERSION)
        return error_set(err, ERROR_VERSION,
                         "'%s' has log version %" PRIu32
                         ", this mtrace reads up to %d; use a newer mtrace",
                         path, header->version, LOG_VERSION);
    if (header->version < 1)
        return error_set_offset(err, ERROR_FORMAT, offsetof(struct log_header, version),
                                "'%s' has a damaged header: version is 0", path);
    if (header->word_bytes == 4 || header->word_bytes == 8)
        return 0;
    return error_set_offset(err, ERROR_FORMAT, offsetof(struct log_header, word_bytes),
                            "'%s' has a damaged header: words have %u bytes", path,
                            (unsigned)header->word_bytes);
}
