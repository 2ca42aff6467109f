/* SPDX-License-Identifier: MIT */
/* A file appears whole or not at all, on file systems with all features and on simpler ones. */
#include "lib/base/error.h"
#include "lib/process/output_file.h"
#include "tests/lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_output_file.XXXXXX";
static char target[64], other[64];

/* ---- file systems that know less (linked with --wrap) ---- */

static bool knows_noreplace, knows_links;
static bool abandons_in_exchange, has_abandoned; /* a signal comes there; and its handler */

int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
                     unsigned flags)
{
    if (abandons_in_exchange)
        has_abandoned = output_file_abandon();
    errno = EINVAL;
    return knows_noreplace ? __real_renameat2(from_folder, from, to_folder, to, flags) : -1;
}

int __wrap_link(const char *from, const char *to)
{
    errno = EPERM;
    return knows_links ? __real_link(from, to) : -1;
}

/* ---- what is brought to the disk ---- */

static unsigned n_synced;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
    n_synced++;
    return __real_fsync(fd);
}

/* ---- helpers ---- */

static size_t n_files(void)
{
    char pattern[80];
    glob_t found;
    size_t n;

    (void)snprintf(pattern, sizeof(pattern), "%s/*", folder);
    n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    (void)!fread(found, 1, sizeof(found) - 1, file);
    (void)fclose(file);
    assert_string_equal(found, text);
}

static void begin(struct output_file *file, const char *path, bool may_replace)
{
    struct error err;

    if (output_file_open(file, path, may_replace, 0666, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(write(file->fd, "new", 3), 3);
}

static int make_folder(void **state)
{
    (void)state;
    knows_noreplace = knows_links = true;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(target, sizeof(target), "%s/target", folder);
    (void)snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

static int remove_folder(void **state)
{
    int rc;

    (void)state;
    (void)unlink(target);
    (void)unlink(other);
    rc = rmdir(folder);
    memcpy(strrchr(folder, '.'), ".XXXXXX", 7);
    return rc;
}

/* ---- tests ---- */

/* A replaced file is reused for the next output, with its space. If that is impossible, or there
 * was no file, or a link, it is a plain commit. */
TEST_WITH(swapped, make_folder, remove_folder)
{
    struct output_file file;
    struct stat old, kept;
    bool has_old;

    begin(&file, target, true);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    assert_false(has_old);
    output_file_close(&file);
    expect(target, "new");
    assert_int_equal(stat(target, &old), 0);

    begin(&file, target, true);
    assert_int_equal(pwrite(file.fd, "second", 6, 0), 6);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    assert_true(has_old);
    expect(target, "second");
    assert_int_equal(fstat(file.fd, &kept), 0);
    assert_int_equal(kept.st_ino, old.st_ino);
    assert_int_equal(n_files(), 2);
    assert_int_equal(pwrite(file.fd, "third", 5, 0), 5);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    expect(target, "third");
    assert_true(has_old);
    output_file_close(&file);
    expect(target, "third");
    assert_int_equal(n_files(), 1);

    knows_noreplace = false; /* nor any other flag */
    begin(&file, target, true);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    knows_noreplace = true;
    assert_false(has_old);
    expect(target, "new");
    output_file_close(&file);

    assert_int_equal(unlink(target), 0);
    put(other, "linked");
    assert_int_equal(symlink(other, target), 0);
    begin(&file, target, true);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    assert_false(has_old);
    output_file_close(&file);
    expect(target, "new");
    expect(other, "linked");
    assert_int_equal(n_files(), 2);
}

TEST_WITH(only_what_stays_gets_to_the_disk, make_folder, remove_folder)
{
    struct output_file file;

    n_synced = 0;
    begin(&file, target, false);
    file.is_passing = true;
    assert_int_equal(output_file_commit(&file, NULL), 0);
    output_file_close(&file);
    assert_int_equal(n_synced, 0);
    expect(target, "new");

    begin(&file, target, true);
    assert_int_equal(output_file_commit(&file, NULL), 0);
    output_file_close(&file);
    assert_int_equal(n_synced, 2); /* the file and its name */
    assert_int_equal(n_files(), 1);
}

static unsigned mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 0777;
}

/* OF-4: a change applies to all later files. */
TEST_WITH(swapped_ones_hand_permissions_on, make_folder, remove_folder)
{
    struct output_file file;
    bool has_old;

    put(target, "old");
    begin(&file, target, true);
    for (int i = 0; i < 4; i++) {
        unsigned mode = i < 2 ? 0644 : 0600;
        assert_int_equal(chmod(target, mode), 0);
        assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
        assert_true(has_old);
        assert_int_equal(mode_of(target), mode);
    }
    output_file_close(&file);
}

/* A file with a second name, as in a copy made of links, is not overwritten. */
TEST_WITH(other_names_keep_what_was_swapped, make_folder, remove_folder)
{
    struct output_file file;
    bool has_old;

    put(target, "old");
    assert_int_equal(link(target, other), 0);
    begin(&file, target, true);
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    assert_false(has_old);
    assert_int_equal(file.fd, -1);
    output_file_close(&file);
    expect(target, "new");
    expect(other, "old");
    assert_int_equal(n_files(), 2);
}

/* OF-5: on its way to its place it is not removed; what comes back is. */
TEST_WITH(swapped_ones_are_abandoned_between, make_folder, remove_folder)
{
    struct output_file file;
    bool has_old;

    put(target, "old");
    begin(&file, target, true);
    abandons_in_exchange = true;
    assert_int_equal(output_file_swap(&file, &has_old, NULL), 0);
    abandons_in_exchange = false;
    assert_true(has_old);
    assert_false(has_abandoned);
    expect(target, "new");
    assert_int_equal(n_files(), 2);
    assert_true(output_file_abandon());
    assert_int_equal(n_files(), 1);
    output_file_close(&file);
    expect(target, "new");
}

TEST_WITH(whole_or_not_at_all, make_folder, remove_folder)
{
    struct output_file file;

    begin(&file, target, false);
    assert_int_not_equal(access(target, F_OK), 0);
    output_file_close(&file);
    assert_int_equal(n_files(), 0);
    begin(&file, target, false);
    assert_int_equal(output_file_commit(&file, NULL), 0);
    output_file_close(&file);
    assert_int_equal(n_files(), 1);
    expect(target, "new");
}

/* A file that another process made between open and commit stays. */
TEST_WITH(never_replaces_a_file_created_since_open, make_folder, remove_folder)
{
    struct output_file file;
    struct error err;

    for (int knows = 0; knows < 4; knows++) {
        knows_noreplace = knows & 1;
        knows_links = knows & 2;
        begin(&file, target, false);
        put(target, "theirs");
        assert_int_equal(output_file_commit(&file, &err), ERROR_EXISTS);
        output_file_close(&file);
        expect(target, "theirs");
        assert_int_equal(unlink(target), 0);
        begin(&file, target, false);
        assert_int_equal(output_file_commit(&file, &err), 0);
        output_file_close(&file);
        expect(target, "new");
        assert_int_equal(n_files(), 1);
        assert_int_equal(unlink(target), 0);
    }
}

TEST_WITH(links_are_not_followed, make_folder, remove_folder)
{
    struct output_file file;
    struct stat status;

    put(other, "precious");
    assert_int_equal(symlink(other, target), 0);
    assert_int_equal(output_file_open(&file, target, false, 0666, NULL), ERROR_EXISTS);
    output_file_close(&file);
    begin(&file, target, true);
    assert_int_equal(output_file_commit(&file, NULL), 0);
    output_file_close(&file);
    expect(other, "precious");
    expect(target, "new");
    assert_int_equal(lstat(target, &status), 0);
    assert_true(S_ISREG(status.st_mode));
}

/* OF-5 */
TEST_WITH(a_signal_removes_what_is_unfinished, make_folder, remove_folder)
{
    struct output_file file;

    put(target, "old");
    begin(&file, target, true);
    assert_int_equal(n_files(), 2);
    assert_true(output_file_abandon());
    assert_int_equal(n_files(), 1);
    output_file_close(&file);
    begin(&file, target, true);
    output_file_close(&file); /* given up */
    assert_true(output_file_abandon());
    expect(target, "old");
    begin(&file, target, true);
    assert_int_equal(output_file_commit(&file, NULL), 0);
    assert_false(output_file_abandon());
    output_file_close(&file);
    assert_false(output_file_abandon());
    expect(target, "new");
    assert_int_equal(n_files(), 1);
}

/* The temporary file of a killed process is removed when the next one begins; that of a running one
 * stays, and so do unrelated files with similar names. */
TEST_WITH(temporary_files_of_killed_processes_are_removed, make_folder, remove_folder)
{
    struct output_file file;
    char similar[80];
    siginfo_t end;
    pid_t pid = fork();

    if (pid == 0) {
        begin(&file, target, false);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    assert_int_equal(n_files(), 1);
    (void)snprintf(similar, sizeof(similar), "%s.part-%d", target, (int)pid);
    put(similar, "mine");
    begin(&file, other, false);
    assert_int_equal(n_files(), 3);
    output_file_close(&file);

    struct output_file second;
    begin(&file, target, false);
    assert_int_equal(n_files(), 2);
    begin(&second, target, false);
    assert_int_equal(n_files(), 3);
    output_file_close(&second);
    output_file_close(&file);
    assert_int_equal(waitpid(pid, NULL, 0), pid); /* removed already when it was not waited for */
    expect(similar, "mine");
    assert_int_equal(unlink(similar), 0);
    assert_int_equal(n_files(), 0);
}

TEST_WITH(failures_name_the_target, make_folder, remove_folder)
{
    struct output_file file;
    struct error err;

    assert_int_equal(output_file_open(&file, "no/such/folder/x", false, 0666, &err), ERROR_IO);
    assert_non_null(strstr(err.text, "'no/such/folder/x'"));
    output_file_close(&file);
    assert_int_equal(output_file_open(&file, folder, true, 0666, &err), ERROR_IO);
    assert_non_null(strstr(err.text, "directory"));
    output_file_close(&file);
}
