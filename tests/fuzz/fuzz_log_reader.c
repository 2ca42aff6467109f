/* SPDX-License-Identifier: MIT */
/*
 * fuzz_log_reader: any bytes as a log: opening fails with one line, or gives definitions and events
 * that keep their invariants.
 *
 * Byte 0 says what the rest is: bit 0: segments in a short form (below), else the file as it is.
 * Bit 1: packed, with right checksums, so that what is inside is reached. Bit 2: TSC.
 * Short form: a list of segments, each kind (low 3 bits of a byte), two bytes of payload length,
 * two bytes of first node or thread, payload.
 */
#include "lib/logfile/pack.h"
#include "tests/fuzz/log_set_properties.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    IS_SHORT = 1,
    IS_PACKED = 2,
    IS_TSC = 4,
    MAX_SEGMENTS = 32,
    SHORT_HEADER_BYTES = 5,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_header(int fd, unsigned flags)
{
    static union {
        struct log_header header;
        char bytes[LOG_FILE_HEADER_BYTES];
    } page;
    struct log_header *header = &page.header;

    memcpy(header->magic, LOG_MAGIC, sizeof(header->magic));
    header->version = LOG_VERSION;
    header->form = flags & IS_PACKED ? LOG_FORM_PACKED : LOG_FORM_RAW;
    log_file_set_machine(header);
    header->segment_bytes = LOG_SEGMENT_BYTES;
    header->clock = flags & IS_TSC ? LOG_CLOCK_TSC : LOG_CLOCK_MONOTONIC;
    header->run_id = 7;
    header->start_ticks = 1000;
    header->start_monotonic_ns = 1000;
    write_all(fd, &page, sizeof(page));
}

static void write_segment(int fd, unsigned flags, const struct log_segment *segment,
                          const void *payload)
{
    static uint8_t frame[PACK_SEGMENT_MAX_BYTES];
    struct pack_settings settings = {.zstd_level = flags & 8 ? 1 : 0};
    struct pack *pack;

    if (!(flags & IS_PACKED)) {
        write_all(fd, segment, sizeof(*segment));
        write_all(fd, payload, LOG_SEGMENT_PAYLOAD_BYTES);
        return;
    }
    pack = pack_new();
    require(pack);
    write_all(fd, frame,
              pack_segment(pack, &settings, segment, payload, 0, segment->committed_bytes, frame));
    pack_free(pack);
}

static void write_short(int fd, unsigned flags, const uint8_t *data, size_t size)
{
    static uint64_t payload[LOG_SEGMENT_PAYLOAD_BYTES / sizeof(uint64_t)];

    write_header(fd, flags);
    for (uint32_t i = 0; i < MAX_SEGMENTS && size >= SHORT_HEADER_BYTES; i++) {
        size_t n = (size_t)(data[1] | data[2] << 8);
        uint32_t number = (uint32_t)(data[3] | data[4] << 8);
        struct log_segment segment = {.state = LOG_STATE_SEALED,
                                      .kind = data[0] & 7,
                                      .sequence = i + 1 - (data[0] >> 7),
                                      .thread = number,
                                      .first_node = number,
                                      .index = i,
                                      .base_ticks = 2000 + (uint64_t)(data[0] >> 3) * 1000,
                                      .base_monotonic_ns = 2000 + (data[0] >> 3) * 400u,
                                      .run_id = 7};
        data += SHORT_HEADER_BYTES;
        size -= SHORT_HEADER_BYTES;
        n = n < size ? n : size;
        n = n < sizeof(payload) ? n : sizeof(payload);
        memset(payload, 0, sizeof(payload));
        memcpy(payload, data, n);
        segment.committed_bytes = segment.reserved_bytes = (uint32_t)n;
        write_segment(fd, flags, &segment, payload);
        data += n;
        size -= n;
    }
}

static int ignore_sample(void *context, const struct sample *sample)
{
    (void)context;
    require(sample->process == 1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("log", MFD_CLOEXEC);

    require(fd >= 0);
    if (size > 0 && data[0] & IS_SHORT)
        write_short(fd, data[0], data + 1, size - 1);
    else if (size > 0)
        write_all(fd, data + 1, size - 1);
    check_log(fd, ignore_sample);
    close(fd);
    return 0;
}
