/* SPDX-License-Identifier: MIT */
#include "lib/base/error.h"
#include "remote/receiver/object_store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* needs the headers above */
#include <cmocka.h>

enum {
    MAX_BYTES = 1000,
};

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/test-object-store-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[80];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static struct store open_store(bool is_fetching)
{
    struct store store;

    assert_int_equal(store_open(folder, MAX_BYTES, &store, NULL), 0);
    assert_int_equal(object_store_open(&store, is_fetching, NULL), 0);
    return store;
}

static enum wire_wish offer(struct store *store, uint8_t id, uint64_t size_bytes, uint64_t room,
                            struct object_file *ret_file)
{
    const struct wire_object object = {
        .id = {id}, .n_id = 20, .kind = WIRE_OBJECT_FILE, .size_bytes = size_bytes};
    enum wire_wish wish;

    assert_int_equal(object_store_begin(store, &object, 1, room, &wish, ret_file, NULL), 0);
    return wish;
}

/* OT-3: what was fetched counts, whether more is fetched or not. */
static void test_what_is_there_counts(void **state)
{
    char path[128];
    struct store store = open_store(false);
    int fd;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/.build-id", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    store_close(&store);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/ab");
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/cdef");
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, path, 30), 30);
    close(fd);
    store = open_store(false);
    assert_int_equal(store.n_bytes, 30);
    assert_int_equal(store.n_object_bytes, 30);
    store_close(&store);
}

/* OT-4, and each reason. */
static void test_why_not(void **state)
{
    static const char bytes[MAX_BYTES];
    struct object_file file = {.fd = -1}, other = {.fd = -1};
    struct store store = open_store(true);

    (void)state;
    assert_int_equal(offer(&store, 1, 0, MAX_BYTES, &file), WIRE_ABSENT);
    assert_int_equal(offer(&store, 1, OBJECT_STORE_MAX_BYTES + 1, UINT64_MAX, &file),
                     WIRE_TOO_LARGE);
    assert_int_equal(offer(&store, 1, MAX_BYTES / 2 + 1, MAX_BYTES, &file), WIRE_NO_ROOM);
    assert_int_equal(offer(&store, 1, 100, 99, &file), WIRE_NO_ROOM);
    assert_int_equal(file.fd, -1);
    assert_int_equal(offer(&store, 1, 400, MAX_BYTES, &file), WIRE_WANTED);
    assert_int_equal(offer(&store, 2, 400, MAX_BYTES, &other), WIRE_WANTED);
    assert_int_equal(object_store_add(&store, &file, bytes, 400), WIRE_WANTED);
    assert_int_equal(object_store_add(&store, &other, bytes, 100), WIRE_WANTED);
    assert_int_equal(object_store_add(&store, &other, bytes, 1), WIRE_NO_ROOM);
    object_store_drop(&store, &other);
    assert_int_equal(store.n_object_bytes, 400);
    assert_int_equal(object_store_end(&store, &file), WIRE_NOT_IT);
    assert_int_equal(store.n_bytes, 0);
    assert_int_equal(store.n_object_bytes, 0);
    store_close(&store);
}

static int n_synced;
static bool is_sync_failing;
int __wrap_fdatasync(int fd);

/* Before that no name is given. */
int __wrap_fdatasync(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_nlink, 1);
    n_synced++;
    errno = is_sync_failing ? EIO : 0;
    return is_sync_failing ? -1 : 0;
}

/* This program, which has a build id. */
static enum wire_wish bring_program(struct store *store)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct wire_object object = {.kind = WIRE_OBJECT_FILE};
    struct object_file file = {.fd = -1};
    struct build_id id;
    struct stat status;
    enum wire_wish wish;
    void *bytes;

    assert_true(build_id_read(fd, &id));
    assert_int_equal(fstat(fd, &status), 0);
    bytes = malloc((size_t)status.st_size);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, (size_t)status.st_size, 0), status.st_size);
    close(fd);
    memcpy(object.id, id.bytes, id.n);
    object.n_id = (uint8_t)id.n;
    object.size_bytes = (uint64_t)status.st_size;
    assert_int_equal(object_store_begin(store, &object, 1, UINT64_MAX, &wish, &file, NULL), 0);
    assert_int_equal(wish, WIRE_WANTED);
    assert_int_equal(object_store_add(store, &file, bytes, (size_t)status.st_size), WIRE_WANTED);
    free(bytes);
    return object_store_end(store, &file);
}

/* OT-1 */
static void test_what_has_its_name_is_on_the_disk(void **state)
{
    struct store store;

    (void)state;
    assert_int_equal(store_open(folder, UINT64_C(1) << 40, &store, NULL), 0);
    assert_int_equal(object_store_open(&store, true, NULL), 0);
    is_sync_failing = true;
    assert_int_equal(bring_program(&store), WIRE_NOT_WRITTEN);
    assert_int_equal(store.n_bytes, 0);
    is_sync_failing = false;
    assert_int_equal(bring_program(&store), WIRE_KEPT);
    assert_int_equal(n_synced, 2);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_there_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_why_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_has_its_name_is_on_the_disk, set_up, tear_down)};

    return cmocka_run_group_tests_name("object_store", tests, NULL, NULL);
}
