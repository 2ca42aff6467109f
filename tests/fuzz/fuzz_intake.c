/* SPDX-License-Identifier: MIT */
/*
 * Bytes from senders to mtrace-gather, of two senders alternately. For any bytes, files are made
 * only in the folder, under names of the receiver's, with mode 0600; they are packed logs, together
 * not larger than allowed and as large as the store counts. None gets shorter, and earlier files
 * stay as they were. Input: pieces; byte 0 bit 0 is the sender, two bytes its length, then the
 * bytes that are sent.
 */
#include "lib/base/error.h"
#include "remote/receiver/receiver_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    N_SENDERS = 2,
    MAX_FILES = 64,
    MAX_BYTES = 300000,
};

static const char planted[] = "program.7.19700101T000000Z.dat"; /* a link that leads out */
static char outside[] = "/tmp/fuzz-intake-out-XXXXXX";
static char folder[] = "/tmp/fuzz-intake-XXXXXX";

static void require(bool is_good, const char *what)
{
    if (is_good)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static void finish(void)
{
    char path[sizeof(folder) + sizeof(planted)];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, planted);
    (void)unlink(path);
    (void)unlink(outside);
    (void)rmdir(folder);
}

static void start(void)
{
    char path[sizeof(folder) + sizeof(planted)];
    int fd = mkstemp(outside);

    require(fd >= 0 && write(fd, "kept", 4) == 4 && mkdtemp(folder), "no folder");
    close(fd);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, planted);
    require(symlink(outside, path) == 0, "no link");
    (void)atexit(finish);
}

static int put(void *context, const struct wire_head *head, const void *payload, struct error *err)
{
    (void)context;
    (void)err;
    require(head->kind < WIRE_KINDS && head->n_bytes <= WIRE_MAX_BYTES, "an odd answer");
    require(head->n_bytes == 0 || payload, "an answer without its payload");
    return 0;
}

static void emit(void *context, enum receiver_session_news news, const struct store_log *log,
                 const char *why)
{
    (void)context;
    require(news != RECEIVER_SESSION_CUT || (why && *why), "it does not say why");
    require(strlen(log->name) > 0 && log->name[0] != '.', "a log without a name");
}

static void check_file(int dir, const char *name, uint64_t *total)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    struct log_header file;
    struct stat status;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    require(strspn(name, allowed) == strlen(name) && name[0] != '-', "an odd name");
    require(fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode), "no file");
    require((status.st_mode & 0777) == 0600, "others may read it");
    require(status.st_size >= LOG_FILE_HEADER_BYTES, "it has no header");
    require(pread(fd, &file, sizeof(file), 0) == sizeof(file) && file.form == LOG_FORM_PACKED
                && memcmp(file.magic, LOG_MAGIC, sizeof(file.magic)) == 0,
            "it is no packed log");
    *total += (uint64_t)status.st_size;
    close(fd);
}

/* And removes all but the planted files. */
static void check_folder(const struct store *store)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    uint64_t total = 0;
    char kept[5] = "";
    int fd;

    require(dir != NULL, "the folder is gone");
    while ((entry = readdir(dir))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")
            || !strcmp(entry->d_name, planted))
            continue;
        check_file(dirfd(dir), entry->d_name, &total);
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    closedir(dir);
    require(total <= MAX_BYTES, "there is too much");
    require(total == store->n_bytes, "the store has counted wrongly");
    fd = open(outside, O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && read(fd, kept, 5) == 4 && !strcmp(kept, "kept"), "a link was followed");
    close(fd);
}

static void feed(struct receiver_session *intake, struct wire_reader *reader, const uint8_t *bytes,
                 size_t n_bytes, bool *is_failed)
{
    struct error err = {0};

    while (n_bytes && !*is_failed) {
        size_t n_room;
        void *room = wire_reader_room(reader, &n_room);
        size_t n = n_bytes < n_room ? n_bytes : n_room;
        require(n_room >= WIRE_MAX_BYTES, "there is no room");
        memcpy(room, bytes, n);
        wire_reader_add(reader, n);
        *is_failed = receiver_session_take(intake, reader, &err) != 0;
        require(!*is_failed || *err.text, "it fails without a word");
        bytes += n;
        n_bytes -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct wire_reader readers[N_SENDERS];
    static bool has_started;
    struct receiver_session intakes[N_SENDERS];
    struct store store = {.folder = -1};
    bool is_failed[N_SENDERS] = {false};
    struct receiver_session_share share = {0};

    if (!has_started)
        start();
    has_started = true;
    require(store_open(folder, MAX_BYTES, &store, NULL) == 0, "the folder cannot be opened");
    for (size_t i = 0; i < N_SENDERS; i++) {
        intakes[i] = (struct receiver_session){.store = &store,
                                               .put = put,
                                               .emit = emit,
                                               .owner = i + 1,
                                               .max_bytes = UINT64_MAX,
                                               .share = &share};
        wire_reader_init(&readers[i]);
    }
    while (size > 3) {
        size_t which = data[0] % N_SENDERS;
        size_t n = (size_t)data[1] | (size_t)data[2] << 8;
        if (n > size - 3)
            n = size - 3;
        feed(&intakes[which], &readers[which], data + 3, n, &is_failed[which]);
        data += 3 + n;
        size -= 3 + n;
    }
    for (size_t i = 0; i < N_SENDERS; i++)
        (void)receiver_session_done(&intakes[i], "it ends");
    check_folder(&store);
    store_close(&store);
    return 0;
}
