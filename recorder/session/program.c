/* SPDX-License-Identifier: MIT */
#include "recorder/session/program.h"

#include "lib/abi/elf_loader.h"
#include "lib/abi/settings.h"
#include "lib/base/monotonic.h"
#include "recorder/patch/allocator.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SETTINGS_MAX_BYTES = 65536,
    EXIT_NOT_STARTED = 125,
    MAX_INTERPRETERS = 5, /* of scripts whose interpreter is a script; the kernel's limit */
};

/* ---- finding --------------------------------------------------------------------------------- */

static int check_executable(const char *path, struct error *err)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return error_set_errno(err, errno, "cannot run '%s'", path);
    if (S_ISDIR(status.st_mode))
        return error_set(err, ERROR_EXEC, "cannot run '%s': it is a directory", path);
    if (access(path, X_OK) != 0) {
        error_set_errno(err, errno, "cannot run '%s'", path);
        if (err)
            err->code = ERROR_EXEC;
        return ERROR_EXEC;
    }
    return 0;
}

/* Like execvp: unusable files in PATH are skipped, but reported if nothing better is found. */
static int search(const char *name, char **ret_path, struct error *err)
{
    const char *folder = getenv("PATH");
    int code = ERROR_NOT_FOUND;

    if (!folder)
        folder = "/bin:/usr/bin";
    error_set(err, ERROR_NOT_FOUND, "'%s' is not found in the PATH", name);
    for (;;) {
        size_t n = strcspn(folder, ":");
        char *path = NULL;
        if (asprintf(&path, "%.*s/%s", n ? (int)n : 1, n ? folder : ".", name) < 0)
            return error_set(err, ERROR_NOMEM, "not enough memory");
        if (access(path, F_OK) == 0) {
            int found = check_executable(path, code == ERROR_NOT_FOUND ? err : NULL);
            if (found == 0) {
                *ret_path = path;
                return 0;
            }
            code = ERROR_EXEC;
        }
        free(path);
        if (!folder[n])
            return code;
        folder += n + 1;
    }
}

int program_find(char **argv, struct program *ret_program, struct error *err)
{
    struct program program = {.argv = argv, .settings_pipe = -1, .failure_pipe = -1};
    int code;

    if (strchr(argv[0], '/') || !*argv[0]) {
        if (access(argv[0], F_OK) != 0)
            code = error_set(err, ERROR_NOT_FOUND, "'%s' does not exist", argv[0]);
        else
            code = check_executable(argv[0], err);
        program.path = strdup(argv[0]);
    } else {
        code = search(argv[0], &program.path, err);
    }
    if (code == 0 && !program.path)
        code = error_set(err, ERROR_NOMEM, "not enough memory");
    if (code) {
        free(program.path);
        return code;
    }
    *ret_program = program;
    return 0;
}

void program_done(struct program *program)
{
    if (program->settings_pipe >= 0)
        close(program->settings_pipe);
    if (program->failure_pipe >= 0)
        close(program->failure_pipe);
    free(program->path);
    *program = (struct program){.settings_pipe = -1, .failure_pipe = -1};
}

/* ---- starting -------------------------------------------------------------------------------- */

/* In the child process: reads all settings after `used` bytes and adds a NUL; false if it is never
 * released. */
static bool read_settings(int fd, char *text, size_t used)
{
    size_t n_read = used;
    ssize_t n;

    while ((n = read(fd, text + n_read, SETTINGS_MAX_BYTES - 1 - n_read)) != 0) {
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            n_read += (size_t)n;
    }
    text[n_read] = '\0';
    return n_read > used;
}

void program_take_timers(struct program_state *state)
{
    const struct itimerval none = {.it_value = {0}};

    for (int i = 0; i < PROGRAM_TIMERS; i++)
        (void)setitimer(i, &none, &state->timers[i]);
    state->taken_ns = monotonic_now_ns();
    (void)prctl(PR_GET_PDEATHSIG, &state->parent_death_signal);
}

static void restore_timers(const struct program_state *state)
{
    const int64_t elapsed_us = (int64_t)(monotonic_now_ns() - state->taken_ns) / 1000;

    for (int i = 0; i < PROGRAM_TIMERS; i++) {
        struct itimerval timer = state->timers[i];
        struct timeval *left = &timer.it_value;
        int64_t left_us = (int64_t)left->tv_sec * 1000000 + left->tv_usec;
        if (left_us == 0)
            continue;
        if (i == ITIMER_REAL) /* the others count CPU time */
            left_us = left_us > elapsed_us ? left_us - elapsed_us : 1;
        *left = (struct timeval){left_us / 1000000, left_us % 1000000};
        (void)setitimer(i, &timer, NULL);
    }
    if (state->parent_death_signal)
        (void)prctl(PR_SET_PDEATHSIG, state->parent_death_signal);
}

static void restore_state(const struct program_state *state)
{
    restore_timers(state);
    sigaction(SIGCHLD, &state->child_action, NULL);
    sigaction(SIGPIPE, &state->pipe_action, NULL);
    sigaction(SIGXFSZ, &state->size_action, NULL);
    if (state->has_descriptors)
        (void)setrlimit(RLIMIT_NOFILE, &state->descriptors);
    sigprocmask(SIG_SETMASK, &state->mask, NULL);
}

/* Makes AddressSanitizer accept that our library comes first, unless the user has set the option.
 * The collector removes it again (EN-1). */
static bool pacify_asan(void)
{
    static const char option[] = "verify_asan_link_order=0";
    const char *users = getenv("ASAN_OPTIONS");
    char *options = NULL;

    if (users && strstr(users, "verify_asan_link_order"))
        return false;
    if (asprintf(&options, users ? "%s:%s" : "%s%s", users ? users : "", option) < 0)
        _exit(EXIT_NOT_STARTED);
    setenv("ASAN_OPTIONS", options, 1);
    return true;
}

void program_join_settings(char *assignments)
{
    for (char *end = assignments; (end = strchr(end, '\n'));)
        *end = SETTINGS_SEPARATOR;
}

/* In the child process, between fork and exec. The first line of the settings is the library to
 * preload. */
static void set_environment(char *settings)
{
    char *end = strchr(settings, '\n');
    const char *users = getenv("LD_PRELOAD");
    char *preload = NULL;
    char *assignments = NULL;
    bool is_pacified;

    if (!end)
        return;
    *end = '\0';
    if (end == settings)
        return;
    is_pacified = pacify_asan(); /* what will be executed later is unknown */
    if (asprintf(&preload, users && *users ? "%s:%s" : "%s", settings, users) < 0
        || asprintf(&assignments, "%sMTRACE_TARGET_PID=%d\n%s", end + 1, (int)getpid(),
                    is_pacified ? "MTRACE_ASAN_OPTION=1\n" : "")
               < 0)
        _exit(EXIT_NOT_STARTED);
    program_join_settings(assignments);
    setenv("LD_PRELOAD", preload, 1);
    setenv("MTRACE_RECORDER", assignments, 1);
}

static void run_child(const struct program *program, int settings_fd, int failure_fd)
{
    static char settings[SETTINGS_MAX_BYTES];
    int failure;

    if (!read_settings(settings_fd, settings, 0))
        _exit(EXIT_NOT_STARTED);
    set_environment(settings);
    restore_state(&program->state);
    execv(program->path, program->argv);
    failure = errno;
    /* a script without #! is run by the shell, as in execvp */
    if (failure == ENOEXEC) {
        execvp(program->path, program->argv);
        failure = errno;
    }
    (void)!write(failure_fd, &failure, sizeof(failure));
    _exit(EXIT_NOT_STARTED);
}

int program_start(struct program *program, const struct program_state *state, struct error *err)
{
    int settings[2];
    int failure[2];

    program->state = *state;
    if (pipe2(settings, O_CLOEXEC) != 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    if (pipe2(failure, O_CLOEXEC) != 0) {
        close(settings[0]);
        close(settings[1]);
        return error_set_errno(err, errno, "cannot make a pipe");
    }
    program->pid = fork();
    if (program->pid == 0) {
        close(settings[1]);
        close(failure[0]);
        run_child(program, settings[0], failure[1]);
    }
    close(settings[0]);
    close(failure[1]);
    program->settings_pipe = settings[1];
    program->failure_pipe = failure[0];
    if (program->pid < 0)
        return error_set_errno(err, errno, "cannot start a process for '%s'", program->path);
    return 0;
}

static bool write_all(int fd, const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0) {
            text += n;
            left -= (size_t)n;
        }
    }
    return true;
}

int program_release(struct program *program, const char *library, const char *settings,
                    struct error *err)
{
    int failure = 0;
    ssize_t n;
    bool is_sent;

    if (strlen(library ? library : "") + strlen(settings) + 2 >= SETTINGS_MAX_BYTES)
        return error_set(err, ERROR_USAGE, "the settings of the collector are too long");
    is_sent = write_all(program->settings_pipe, library ? library : "")
              && write_all(program->settings_pipe, "\n")
              && write_all(program->settings_pipe, settings);
    close(program->settings_pipe);
    program->settings_pipe = -1;
    if (!is_sent)
        return error_set_errno(err, errno, "cannot start '%s'", program->path);
    do
        n = read(program->failure_pipe, &failure, sizeof(failure));
    while (n < 0 && errno == EINTR);
    if (n != sizeof(failure))
        return 0;
    error_set_errno(err, failure, "cannot run '%s'", program->path);
    if (err)
        err->code = failure == ENOENT ? ERROR_NOT_FOUND : ERROR_EXEC;
    return failure == ENOENT ? ERROR_NOT_FOUND : ERROR_EXEC;
}

/* ---- explaining ------------------------------------------------------------------------------ */

/* What is finally executed: the program itself, or the interpreter of a script. */
struct target {
    int fd; /* negative: not readable */
    char path[PATH_MAX];
    size_t n_bytes; /* available bytes of the start */

    union {
        union elf_loader_file elf;
        char text[PATH_MAX];
    } start;
};

static bool is_elf(const struct target *target)
{
    return elf_loader_is_elf(&target->start.elf, target->n_bytes);
}

static struct collector_library_kind kind_of(const struct target *target)
{
    const union elf_loader_file *file = &target->start.elf;

    return (struct collector_library_kind){
        .machine = file->narrow.e_machine, /* same place in both widths */
        .word_bytes = elf_loader_is_narrow(file) ? 4 : 8,
    };
}

/* False: the program has no loader. */
static bool find_loader(const struct target *target, char loader[PATH_MAX])
{
    const union elf_loader_file *file = &target->start.elf;
    uint64_t at;

    for (unsigned i = 0; (at = elf_loader_segment_at(file, i)) != 0; i++) {
        union elf_loader_segment segment = {.wide = {.p_type = PT_NULL}};
        uint64_t n_bytes;
        if (pread(target->fd, &segment, sizeof(segment), (off_t)at) <= 0)
            break;
        if (elf_loader_is_name(file, &segment, &at, &n_bytes)) {
            ssize_t n = pread(target->fd, loader, PATH_MAX - 1, (off_t)at);
            loader[n <= 0 ? 0 : (uint64_t)n < n_bytes ? (uint64_t)n : n_bytes] = '\0';
            return n > 0;
        }
    }
    if (!elf_loader_is_musl(target->path))
        return false;
    (void)snprintf(loader, PATH_MAX, "%s", target->path);
    return true;
}

/* A loader that cannot be opened cannot start anything. */
static bool is_glibc(const char *loader)
{
    static char bytes[ELF_LOADER_MAX_BYTES];
    ssize_t n;
    int fd;

    if (elf_loader_is_glibc(loader) || elf_loader_is_musl(loader))
        return elf_loader_is_glibc(loader);
    fd = open(loader, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return true;
    n = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    return n > 0 && memmem(bytes, (size_t)n, ELF_LOADER_MARK, sizeof(ELF_LOADER_MARK) - 1);
}

/* Why the program's loader must not get our library; NULL: it may. */
static const char *explain_loader(const struct target *target)
{
    static char text[PATH_MAX + 256];
    char loader[PATH_MAX];

    if (!find_loader(target, loader) || is_glibc(loader))
        return NULL;
    (void)snprintf(text, sizeof(text),
                   "its loader '%s' is not glibc's (musl, say), and cannot load the collector; "
                   "record a build for glibc",
                   loader);
    return text;
}

static const char *explain_elf(const struct target *target)
{
    static char text[PATH_MAX];
    struct collector_library_kind kind = kind_of(target);
    char loader[PATH_MAX];
    const char *reason = explain_loader(target);

    if (!reason && !collector_library_is_own(&kind))
        reason = collector_library_explain(&kind, text, sizeof(text));
    else if (!reason && !find_loader(target, loader))
        reason = "it is statically linked, so no library can be preloaded; link it dynamically";
    return reason;
}

/* Stores the interpreter of a script in *path; false if it is not a script. */
static bool find_interpreter(const char *start, size_t n, char *path, size_t path_bytes)
{
    size_t skip = 2;
    size_t length;

    if (n < 3 || memcmp(start, "#!", 2) != 0)
        return false;
    while (skip < n && (start[skip] == ' ' || start[skip] == '\t'))
        skip++;
    length = strcspn(start + skip, " \t\n");
    if (length == 0 || length >= path_bytes)
        return false;
    memcpy(path, start + skip, length);
    path[length] = '\0';
    return true;
}

/* False: unreadable, or scripts name each other, which the kernel rejects as well. */
static bool open_target(const char *path, struct target *ret_target)
{
    *ret_target = (struct target){.fd = -1};
    if ((size_t)snprintf(ret_target->path, PATH_MAX, "%s", path) >= PATH_MAX)
        return false;
    for (int i = 0; i <= MAX_INTERPRETERS; i++) {
        int fd = open(ret_target->path, O_RDONLY | O_CLOEXEC);
        char *start = ret_target->start.text;
        ssize_t n;

        if (fd < 0)
            return false;
        n = pread(fd, start, PATH_MAX - 1, 0);
        ret_target->n_bytes = n > 0 ? (size_t)n : 0;
        start[ret_target->n_bytes] = '\0';
        ret_target->fd = fd;
        if (!find_interpreter(start, ret_target->n_bytes, ret_target->path, PATH_MAX))
            return true;
        close(fd);
    }
    return false;
}

struct program_look program_look(const char *path)
{
    struct program_look look = {.is_elf = false};
    char loader[PATH_MAX];
    struct target target;

    if (!open_target(path, &target))
        return look;
    look.is_elf = is_elf(&target);
    if (look.is_elf) {
        look.kind = kind_of(&target);
        look.has_no_loader = !find_loader(&target, loader);
        look.is_not_of_glibc = explain_loader(&target) != NULL;
    }
    close(target.fd);
    return look;
}

static const char *explain_file(const struct target *target)
{
    const int fd = target->fd;
    const char *reason;
    struct stat status;

    if (fstat(fd, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID))
        && (status.st_uid != geteuid() || (status.st_mode & S_ISGID)))
        return "it is set-uid or set-gid, and such programs load no preloaded library; run it "
               "under the account it changes to";
    if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return "it has file capabilities, and such programs load no preloaded library; run a "
               "copy of it, which has none";
    if (!is_elf(target))
        return NULL;
    reason = explain_elf(target);
    if (!reason && allocator_wants_to_be_first(target->path, getenv("LD_PRELOAD")))
        return "AddressSanitizer ends a program when any library comes before its own; "
               "leave verify_asan_link_order out of ASAN_OPTIONS";
    return reason;
}

const char *program_explain(const char *path)
{
    struct target target;
    const char *reason;

    if (!open_target(path, &target))
        return NULL;
    reason = explain_file(&target);
    close(target.fd);
    return reason;
}

static const char *find_word(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words;
}

const char *program_starts_others(const char *path, char *const *argv)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh", "busybox", NULL};
    static const char *const starters[] = {
        "make",  "gmake",    "ninja",      "cmake",    "ctest",   "cargo",
        "npm",   "npx",      "xargs",      "parallel", "nginx",   "apache2",
        "httpd", "postgres", "postmaster", "gunicorn", "php-fpm", NULL,
    };
    const char *slash = strrchr(path, '/');
    const char *found = find_word(starters, slash ? slash + 1 : path);
    struct target target;
    bool is_script;

    if (found || !open_target(path, &target))
        return found;
    close(target.fd);
    is_script = strcmp(target.path, path) != 0;
    slash = strrchr(target.path, '/');
    /* A command after -c is often one program only. */
    if (is_script || (argv[1] && *argv[1] != '-'))
        found = find_word(shells, slash ? slash + 1 : target.path);
    return found;
}

/* ---- mtrace's own files ---------------------------------------------------------------------- */

char *program_find_sibling(const char *name)
{
    char *path = collector_library_beside(name);

    if (path && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

void program_explain_sibling(const char *name, char *text, size_t n_bytes)
{
    char *path = collector_library_beside(name);

    if (path && access(path, X_OK) != 0)
        (void)snprintf(text, n_bytes,
                       "'%s' cannot be run: %s; install it there, beside mtrace-record", path,
                       strerror(errno));
    else
        (void)snprintf(text, n_bytes, "'%s' is not beside mtrace-record; install it there", name);
    free(path);
}
