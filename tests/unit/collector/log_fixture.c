/* SPDX-License-Identifier: MIT */
#include "tests/unit/collector/log_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void log_fixture_open(struct log_fixture *fixture, uint32_t n_segments, uint64_t max_bytes)
{
    size_t size_bytes = LOG_FILE_HEADER_BYTES + (size_t)n_segments * LOG_SEGMENT_BYTES;
    struct stat status;
    int fd;

    strcpy(fixture->path, "/tmp/test_log_XXXXXX");
    fd = mkstemp(fixture->path);
    if (fd < 0 || ftruncate(fd, (off_t)size_bytes) != 0 || fstat(fd, &status) != 0)
        abort();
    fixture->file = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (fixture->file == MAP_FAILED)
        abort();
    fixture->file->run_id = LOG_FIXTURE_RUN_ID;
    fixture->file->next_sequence = 1;
    fixture->file->n_nodes = LOG_NODE_FIRST;
    fixture->file->n_segments = n_segments;
    fixture->where = (struct segment_file){
        .path = fixture->path,
        .id = {status.st_dev, status.st_ino, status.st_size},
        .max_bytes = max_bytes,
    };
    segment_attach(fixture->file, n_segments, &fixture->where);
    segment_add_free(0, n_segments);
}

void log_fixture_close(struct log_fixture *fixture)
{
    segment_forget();
    unlink(fixture->path);
}
