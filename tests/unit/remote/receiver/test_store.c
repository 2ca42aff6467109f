/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "remote/receiver/store.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* needs the headers above */

static char folder[] = "/tmp/test-store-XXXXXX";
static uint8_t page[LOG_FILE_HEADER_BYTES];

static const void *make_page(uint64_t run_id, uint64_t parent_run_id, uint32_t pid)
{
    struct log_header file = {.version = LOG_VERSION,
                              .form = LOG_FORM_PACKED,
                              .run_id = run_id,
                              .parent_run_id = parent_run_id,
                              .pid = pid,
                              .start_unix_ns = UINT64_C(1700000000000000000)};

    memcpy(file.magic, LOG_MAGIC, sizeof(file.magic));
    memcpy(page, &file, sizeof(file));
    return page;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/test-store-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct store_log *begin(struct store *store, const void *header, const char *program)
{
    const struct store_offer offer = {
        .page = header, .program = program, .n_program = strlen(program)};
    struct store_log *log;

    assert_int_equal(store_begin(store, &offer, false, 1, &log, NULL), 0);
    return log;
}

/* ST-1 */
TEST_WITH(test_names, set_up, tear_down)
{
    struct store store;

    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    assert_string_equal(begin(&store, make_page(1, 0, 7), "prog")->name,
                        "prog.7.20231114T221320Z.dat");
    assert_string_equal(begin(&store, make_page(2, 1, 8), "other")->name,
                        "prog.7.20231114T221320Z.dat.8.0");
    assert_string_equal(begin(&store, make_page(3, 2, 9), "third")->name,
                        "prog.7.20231114T221320Z.dat.9.0");
    assert_string_equal(begin(&store, make_page(4, 0, 7), "../.x/\n")->name,
                        "_._.x__.7.20231114T221320Z.dat");
    assert_string_equal(begin(&store, make_page(5, 0, 7), "prog")->name,
                        "prog.7.20231114T221320Z.2.dat");
    assert_string_equal(begin(&store, make_page(6, 0, 7), "")->name,
                        "program.7.20231114T221320Z.dat");
    store_close(&store);
}

/* ST-3; a log is found again by what its header says, also by another store. */
TEST_WITH(test_going_on, set_up, tear_down)
{
    struct store_log *log;
    struct store store;

    assert_int_equal(store_open(folder, 8192, &store, NULL), 0);
    log = begin(&store, make_page(1, 0, 7), "prog");
    assert_int_equal(store_add(&store, log, "abcd", 4, NULL), 0);
    store_close(&store);
    assert_int_equal(store_open(folder, 8192, &store, NULL), 0);
    assert_int_equal(store.n_bytes, 4100);
    log = begin(&store, make_page(1, 0, 7), "renamed");
    assert_string_equal(log->name, "prog.7.20231114T221320Z.dat");
    assert_int_equal(log->size_bytes, 4100);
    assert_int_equal(store_set_header(log, make_page(9, 0, 7), NULL), ERROR_FORMAT);
    assert_int_equal(store_set_header(log, make_page(1, 0, 7), NULL), 0);
    assert_int_not_equal(store_add(&store, log, page, 4093, NULL), 0); /* ST-4 */
    assert_int_equal(store_add(&store, log, page, 4092, NULL), 0);
    store_close(&store);
}

/* ST-2 */
TEST_WITH(test_folder, set_up, tear_down)
{
    struct store store, second;
    struct error err;

    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    assert_int_equal(store_open(folder, UINT64_MAX, &second, &err), ERROR_EXISTS);
    store_close(&store);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_int_equal(store_open(folder, UINT64_MAX, &store, &err), ERROR_USAGE);
    assert_non_null(strstr(err.text, "chmod go-w"));
}

/* Incoming data survives that a file was removed. */
TEST_WITH(test_removed, set_up, tear_down)
{
    char path[256];
    struct store_log *log;
    struct store store;

    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    log = begin(&store, make_page(1, 0, 7), "prog");
    (void)snprintf(path, sizeof(path), "%s/%s", folder, log->name);
    assert_int_equal(unlink(path), 0);
    log = begin(&store, make_page(1, 0, 7), "prog");
    assert_int_equal(log->size_bytes, LOG_FILE_HEADER_BYTES);
    assert_int_equal(store.n_bytes, LOG_FILE_HEADER_BYTES);
    assert_int_equal(access(path, F_OK), 0);
    store_close(&store);
}

/* ST-5: a check for the lock comes at the very moment of locking. */
TEST_WITH(test_looked_at, set_up, tear_down)
{
    char path[256];
    struct store_log *log;
    struct store store;
    int looker;

    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    log = begin(&store, make_page(1, 0, 7), "prog");
    (void)snprintf(path, sizeof(path), "%s/%s", folder, log->name);
    store_let_go(log);
    looker = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
    log = begin(&store, make_page(1, 0, 7), "prog");
    assert_int_equal(flock(looker, LOCK_UN), 0);
    assert_int_equal(store_add(&store, log, "abcd", 4, NULL), 0);
    assert_int_not_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
    store_let_go(log);
    assert_int_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
    close(looker);
    store_close(&store);
}

/* A log that was started again continues after a restart, for any order of the folder. */
TEST_WITH(test_newest, set_up, tear_down)
{
    enum {
        N_RUNS = 9
    };

    char names[N_RUNS][STORE_NAME_BYTES];
    struct store_log *log;
    struct store store;

    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    for (unsigned i = 0; i < N_RUNS; i++) {
        (void)begin(&store, make_page(i + 1, 0, i + 1), "prog");
        const struct store_offer offer = {.page = page, .program = "prog", .n_program = 4};
        assert_int_equal(store_begin(&store, &offer, true, 1, &log, NULL), 0);
        strcpy(names[i], log->name);
    }
    store_close(&store);
    assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
    for (unsigned i = 0; i < N_RUNS; i++)
        assert_string_equal(begin(&store, make_page(i + 1, 0, i + 1), "prog")->name, names[i]);
    store_close(&store);
}

static size_t n_folders_synced;
int __wrap_fsync(int fd);
int __real_fsync(int fd);

int __wrap_fsync(int fd)
{
    struct stat status;

    n_folders_synced += fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    return __real_fsync(fd);
}

/* The names of synced files are synced, too; also of one that was created before a restart. */
TEST_WITH(test_names_are_on_the_disk, set_up, tear_down)
{
    struct store_log *log;
    struct store store;

    n_folders_synced = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_open(folder, UINT64_MAX, &store, NULL), 0);
        log = begin(&store, make_page(1, 0, 7), "prog");
        assert_int_equal(store_sync(&store, log, NULL), 0);
        assert_int_equal(n_folders_synced, 3 * i + 1);
        assert_int_equal(store_sync(&store, log, NULL), 0);
        assert_int_equal(n_folders_synced, 3 * i + 1);
        log = begin(&store, make_page((uint64_t)i + 2, 0, 7), "prog");
        assert_int_equal(store_sync(&store, log, NULL), 0);
        assert_int_equal(n_folders_synced, 3 * i + 2);
        store_close(&store);
        n_folders_synced += 1;
    }
}
