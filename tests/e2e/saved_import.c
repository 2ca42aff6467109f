/* SPDX-License-Identifier: MIT */
/* saved_import LOG DATABASE SHARES: the import of a recording in pieces. Up to each
 * share of its time (in thousandths) a process of its own takes what came since, and leaves what it
 * keeps as a state beside the database, for the next one; the last one writes the database. Prints
 * how large each state was. */
#include "importer/cli/incremental_import.h"
#include "importer/read/log_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char g_path[4096];
static FILE *g_file;
static uint64_t g_n_bytes;
static uint8_t g_chunk[CHECKPOINT_CHUNK_BYTES];

static int put(void *context, const void *chunk, size_t n_bytes, struct error *err)
{
    uint64_t n = n_bytes;

    (void)context;
    g_n_bytes += n_bytes;
    return fwrite(&n, sizeof n, 1, g_file) == 1 && fwrite(chunk, 1, n_bytes, g_file) == n_bytes
               ? 0
               : error_set(err, ERROR_IO, "cannot write '%s'", g_path);
}

static int next(void *context, const void **ret_chunk, size_t *ret_bytes, struct error *err)
{
    uint64_t n;

    (void)context;
    *ret_bytes = 0;
    if (fread(&n, sizeof n, 1, g_file) != 1)
        return 0;
    if (n > sizeof g_chunk || fread(g_chunk, 1, n, g_file) != n)
        return error_set(err, ERROR_IO, "cannot read '%s'", g_path);
    *ret_chunk = g_chunk;
    *ret_bytes = n;
    return 0;
}

static int load(struct incremental_import *incremental, struct error *err)
{
    const struct checkpoint_io_source source = {.next = next};

    g_file = fopen(g_path, "re");
    if (!g_file)
        return error_set(err, ERROR_IO, "cannot open '%s'", g_path);
    int code = incremental_import_load(incremental, &source, err);
    fclose(g_file);
    return code;
}

static int save(struct incremental_import *incremental, struct error *err)
{
    const struct checkpoint_io_sink sink = {.put = put};

    g_file = fopen(g_path, "we");
    if (!g_file)
        return error_set(err, ERROR_IO, "cannot open '%s'", g_path);
    int code = incremental_import_save(incremental, &sink, err);
    if (fclose(g_file) != 0 && code == 0)
        code = error_set(err, ERROR_IO, "cannot write '%s'", g_path);
    printf("%" PRIu64 " bytes after %" PRIu64 " events\n", g_n_bytes,
           incremental_import_n_kept(incremental));
    return code;
}

/* until_ns 0: the last piece. */
static int run_piece(const struct import_options *options, bool is_first, uint64_t until_ns,
                     struct error *err)
{
    struct import_result result;
    struct progress progress;
    struct incremental_import *incremental;

    progress_init(&progress, NULL, NULL);
    int code = incremental_import_open(options, &progress, &incremental, err);
    if (code)
        return code;
    if (is_first)
        incremental_import_be_bounded(incremental);
    else
        code = load(incremental, err);
    if (code == 0)
        code = incremental_import_advance(incremental, until_ns ? until_ns : UINT64_MAX, err);
    if (code == 0 && until_ns)
        code = save(incremental, err);
    else if (code == 0)
        code = incremental_import_write(incremental, options, true, &result, err);
    incremental_import_close(incremental);
    return code;
}

static int run_in_child(const struct import_options *options, bool is_first, uint64_t until_ns)
{
    struct error err;
    int status = 1;
    pid_t pid = fork();

    if (pid == 0) {
        int code = run_piece(options, is_first, until_ns, &err);
        if (code)
            fprintf(stderr, "saved_import: %s\n", err.text);
        fflush(NULL);
        _exit(code != 0);
    }
    return waitpid(pid, &status, 0) == pid ? status : 1;
}

/* CLOCK_MONOTONIC at the beginning of the recording, and its length. */
static int find_times(const struct import_options *options, uint64_t *ret_origin_ns,
                      uint64_t *ret_length_ns)
{
    struct log_set *logs;
    struct error err;

    *ret_length_ns = 0;
    if (log_set_open(options->logs, options->n_logs, NULL, &logs, &err) != 0) {
        fprintf(stderr, "saved_import: %s\n", err.text);
        return 1;
    }
    *ret_origin_ns = logs->origin_ns;
    const struct definitions *definitions = log_set_definitions(logs);
    for (size_t id = 1; id <= definitions->n_processes; id++)
        if (definitions->processes[id].last_ns > *ret_length_ns)
            *ret_length_ns = definitions->processes[id].last_ns;
    log_set_close(logs);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    const char *const logs[] = {argv[1]};
    const struct import_options options = {.logs = logs,
                                           .n_logs = 1,
                                           .target = argv[2],
                                           .force = true,
                                           .slim = true,
                                           .no_symbols = true};
    uint64_t origin_ns, length_ns;

    snprintf(g_path, sizeof g_path, "%s.state", argv[2]);
    if (find_times(&options, &origin_ns, &length_ns) != 0)
        return 1;
    for (int i = 3; i < argc; i++) {
        uint64_t share = strtoull(argv[i], NULL, 10);
        if (run_in_child(&options, i == 3, origin_ns + length_ns / 1000 * share) != 0)
            return 1;
    }
    return run_in_child(&options, false, 0) != 0;
}
