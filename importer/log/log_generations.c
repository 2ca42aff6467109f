/* SPDX-License-Identifier: MIT */
#include "importer/log/log_generations.h"

#include "lib/base/dynamic_array.h"
#include "lib/logfile/log_rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
    MOST_OPEN_GENERATIONS = 256, /* a normal ring has half as many */
    OPEN_SHARE = 64,             /* share of the descriptors, since there may be many logs */
};

static int out_of_memory(struct error *err)
{
    return error_set(err, ERROR_NOMEM, "out of memory");
}

int log_generations_add_file(struct log_input *input, struct log_file_reader *file)
{
    struct log_file_reader **files = dynamic_array_reserve(
        input->files, &input->files_capacity, input->n_files + 1, sizeof(*input->files));

    if (!files) {
        log_file_close(file);
        return ERROR_NOMEM;
    }
    input->files = files;
    files[input->n_files++] = file;
    return 0;
}

int log_generations_open(struct log_input *input, uint32_t number, struct text_arena *arena,
                         bool *ret_is_ours, struct error *err)
{
    char *name = log_rotation_name(log_input_packed(input)->path, number);
    struct log_file_reader *file;
    struct error failure = {.code = 0};
    int r = name ? log_file_open(name, arena, &file, &failure) : out_of_memory(&failure);

    free(name);
    *ret_is_ours = false;
    if (r == ERROR_FORMAT || failure.os_errno == ENOENT)
        return 0;
    if (r != 0) {
        if (err)
            *err = failure;
        return r;
    }
    if (file->header.run_id != input->header.run_id || file->header.form != LOG_FORM_PACKED) {
        log_file_close(file);
        return 0;
    }
    *ret_is_ours = true;
    file->generation = number;
    input->last_generation = number; /* a file without a header may grow later */
    return log_generations_add_file(input, file) == 0 ? 0 : out_of_memory(err);
}

void log_generations_rest(const struct log_input *input, size_t index)
{
    struct rlimit limit = {0};

    if (index > MOST_OPEN_GENERATIONS || getrlimit(RLIMIT_NOFILE, &limit) != 0
        || index > limit.rlim_cur / OPEN_SHARE)
        log_file_rest(input->files[index]);
}
