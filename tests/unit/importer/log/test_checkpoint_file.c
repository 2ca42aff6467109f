/* SPDX-License-Identifier: MIT */
/* Checkpoints of a log alternate between two files: each is complete, whatever its file contained
 * before. */
#include "importer/log/checkpoint_file.h"
#include "lib/logfile/log_rotation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* clang-format off: cmocka.h wants the others before it */
#include <cmocka.h>

/* clang-format on */

static void a_state_takes_what_it_has(void **state)
{
    static const unsigned n_chunks[] = {9, 9, 4, 5, 1, 2, 9}; /* some behind which more is left */
    static const char chunk[16384] = "a state";
    const struct log_header header = {.run_id = 1};
    char folder[] = "/tmp/mtrace-test-state-XXXXXX";
    char path[64];
    struct state_writer *writer;
    size_t n_longer = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/run.dat", folder);
    assert_int_equal(log_rotation_state_bytes(path), 0);
    assert_int_equal(state_writer_open(path, &writer, NULL), 0);
    for (size_t i = 0; i < sizeof(n_chunks) / sizeof(*n_chunks); i++) {
        struct checkpoint_io_sink sink = state_writer_sink(writer);
        struct stat status;
        bool has_old;
        char *name = log_rotation_state_name(path);

        assert_int_equal(state_writer_begin(writer, &header, NULL), 0);
        for (unsigned k = 0; k < n_chunks[i]; k++)
            assert_int_equal(sink.put(sink.context, chunk, sizeof(chunk), NULL), 0);
        assert_int_equal(state_writer_commit(writer, &has_old, NULL), 0);
        assert_int_equal(stat(name, &status), 0);
        free(name);
        assert_in_range(state_writer_bytes(writer), n_chunks[i] * sizeof(chunk), status.st_size);
        assert_int_equal(log_rotation_state_bytes(path), state_writer_bytes(writer));
        assert_int_equal(log_rotation_max_bytes(path),
                         LOG_ROTATION_MAX * log_rotation_bytes() + 2 * state_writer_bytes(writer));
        n_longer += (uint64_t)status.st_size > state_writer_bytes(writer);
        if (!has_old) {
            state_writer_close(writer);
            assert_int_equal(state_writer_open(path, &writer, NULL), 0);
        }
    }
    assert_true(n_longer > 0);
    state_writer_close(writer);
    log_rotation_remove(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_takes_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
