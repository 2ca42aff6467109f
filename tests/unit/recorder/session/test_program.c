/* SPDX-License-Identifier: MIT */
/* The program is found as a shell finds it, and started with the recorder's descriptors, signals
 * and limits. */
#include "recorder/session/program.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_NOT_STARTED = 125
};

static char shell[] = "/bin/sh";
static char dash_c[] = "-c";
static char folder[] = "/tmp/mtrace-test-program-XXXXXX";

static char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static const char *read_file(const char *name)
{
    static char text[4096];
    FILE *file = fopen(in_folder(name), "re");

    memset(text, 0, sizeof(text));
    if (!file)
        return NULL;
    (void)!fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    return text;
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    write_file("tool", "#!/bin/sh\nexit 3\n", 0700);
    write_file("plain", "exit 4\n", 0700);
    write_file("closed", "x", 0600);
    write_file("broken", "#!/nonexistent/interpreter\n", 0700);
    return 0;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"tool", "plain", "closed", "broken", "said"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unlink(in_folder(names[i]));
    rmdir(in_folder("sub"));
    return rmdir(folder);
}

static int find(const char *name, struct program *ret_program, struct error *err)
{
    static char *argv[2];

    free(argv[0]);
    argv[0] = strdup(name);
    return program_find(argv, ret_program, err);
}

static void check_found(const char *name, const char *path)
{
    struct program program;
    struct error err;

    assert_int_equal(find(name, &program, &err), 0);
    assert_string_equal(program.path, path);
    program_done(&program);
    assert_null(program.path);
}

TESTS_WITH(make_folder, remove_folder);

TEST(is_found_as_a_shell_does)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "/nonexistent:%s/sub:%s", folder, folder);
    setenv("PATH", path, 1);
    check_found("tool", in_folder("tool"));
    check_found(in_folder("tool"), in_folder("tool"));
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", "/nonexistent:", 1); /* an empty part is the working directory */
    check_found("tool", "./tool");
    assert_int_equal(chdir("/"), 0);
    unsetenv("PATH");
    check_found("sh", access("/bin/sh", X_OK) == 0 ? "/bin/sh" : "/usr/bin/sh");
}

/* ---- starting -------------------------------------------------------------------------------- */

static struct program_state current_state(void)
{
    struct program_state state = {.has_descriptors = false};

    sigprocmask(SIG_SETMASK, NULL, &state.mask);
    sigaction(SIGCHLD, NULL, &state.child_action);
    sigaction(SIGPIPE, NULL, &state.pipe_action);
    sigaction(SIGXFSZ, NULL, &state.size_action);
    return state;
}

/* Ends the program's side of the pipes first, which ends what was not released. */
static int wait_for(struct program *program)
{
    pid_t pid = program->pid;
    int status;

    program_done(program);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Starts argv and releases it; its wait status, and what program_release said. */
static int run(char **argv, const char *library, const char *settings, int *ret_code)
{
    const struct program_state state = current_state();
    struct program program;

    assert_int_equal(program_find(argv, &program, NULL), 0);
    assert_int_equal(program_start(&program, &state, NULL), 0);
    *ret_code = program_release(&program, library, settings, NULL);
    return wait_for(&program);
}

TEST(runs_scripts_without_a_first_line)
{
    char *argv[] = {in_folder("plain"), NULL};
    int code;

    assert_int_equal(WEXITSTATUS(run(argv, NULL, "", &code)), 4);
    assert_int_equal(code, 0);
}

TEST(a_failed_exec_is_reported)
{
    char *argv[] = {in_folder("broken"), NULL};
    int code;

    assert_int_equal(WEXITSTATUS(run(argv, NULL, "", &code)), EXIT_NOT_STARTED);
    assert_int_equal(code, ERROR_NOT_FOUND);
}

TEST(runs_nothing_when_it_is_not_released)
{
    const struct program_state before = current_state();
    char command[512];
    char *argv[] = {shell, dash_c, command, NULL};
    struct program program;

    (void)snprintf(command, sizeof(command), "echo ran > %s", in_folder("said"));
    unlink(in_folder("said"));
    assert_int_equal(program_find(argv, &program, NULL), 0);
    assert_int_equal(program_start(&program, &before, NULL), 0);
    assert_int_equal(WEXITSTATUS(wait_for(&program)), EXIT_NOT_STARTED);
    assert_null(read_file("said"));
}

TEST(too_long_settings_are_refused)
{
    char *argv[] = {shell, NULL};
    static char settings[1 << 16];
    int code;

    memset(settings, 'x', sizeof(settings) - 1);
    assert_int_equal(WEXITSTATUS(run(argv, NULL, settings, &code)), EXIT_NOT_STARTED);
    assert_int_equal(code, ERROR_USAGE);
}
