/* SPDX-License-Identifier: MIT */
/*
 * asking WHAT: live reports that are difficult to answer. Prints their results for
 * tests/e2e/live_reports.py.
 */
#include "include/mtrace.h"
#include "lib/abi/log_format.h"
#include "tests/workloads/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
    N_THREADS = 6,
    N_CHARGED = 20,
};

static void say(const char *what, int code)
{
    printf("%s %s\n", what, code ? strerrorname_np(code) : "0");
    fflush(stdout);
}

static void senseless(void)
{
    static char endless[5000];

    memset(endless, 'x', sizeof(endless) - 1);
    say("command", mtrace_report("nonsense", STDERR_FILENO));
    say("shell", mtrace_report("groups | cat", STDERR_FILENO));
    say("substitution", mtrace_report("groups $(id)", STDERR_FILENO));
    say("nothing", mtrace_report("", STDERR_FILENO));
    say("null", mtrace_report(NULL, STDERR_FILENO));
    say("endless", mtrace_report(endless, STDERR_FILENO));
    say("descriptor", mtrace_report("threads", -1));
    say("sensible", mtrace_report("threads --csv", STDERR_FILENO));
}

static int ask_without_reader(const char *request)
{
    int ends[2];

    if (pipe(ends) != 0)
        abort();
    close(ends[0]);
    int code = mtrace_report(request, ends[1]);
    close(ends[1]);
    return code;
}

static bool is_pending(int number)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

/* SIGPIPE of a failed write of mtrace must not reach the program; one that the program has pending
 * must stay. */
static void unread(void)
{
    const struct rlimit limit = {1000, RLIM_INFINITY};
    int full = open("full", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    sigset_t pipe_signal;

    say("unread", ask_without_reader("threads"));
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    say("blocked", ask_without_reader("threads"));
    say("kept_away", is_pending(SIGPIPE) ? EEXIST : 0);
    raise(SIGPIPE);
    say("with_own", ask_without_reader("threads"));
    say("own", is_pending(SIGPIPE) ? 0 : ENOENT);
    setrlimit(RLIMIT_FSIZE, &limit);
    say("too_long", mtrace_report("report", full));
}

/* The program may not use the current folder, but its recorder may: the folder is root's, and
 * closed to others. */
static void unprivileged(void)
{
    static const char *const requests[] = {
        "summary -o written",       "summary --output=written",
        "summary --outp written",   "summary -wo written",
        "summary --force",          "leaks --suppressions read",
        "leaks suppressions=read",  "diff other.db",
        "--about other.db summary", "summary other.db",
        "summary --output",         "summary -- -o written",
    };
    char what[20];

    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        abort();
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        snprintf(what, sizeof(what), "request%zu", i);
        say(what, mtrace_report(requests[i], STDERR_FILENO));
    }
    mtrace_report("sql \"SELECT '$SECRET' AS words\" --csv", STDERR_FILENO);
    mtrace_report("sql $SECRET", STDERR_FILENO);
    mtrace_report("sql *", STDERR_FILENO);
    say("harmless", mtrace_report("threads --csv", STDERR_FILENO));
}

static void *ask_at_once(void *argument)
{
    char request[100];
    char answer[200] = "";
    int ends[2];

    snprintf(request, sizeof(request),
             "sql 'SELECT %d AS own, count(*) >= 6 AS all_there FROM threads' --csv",
             (int)(intptr_t)argument);
    if (pipe(ends) != 0)
        abort();
    int code = mtrace_report(request, ends[1]);
    close(ends[1]);
    if (read(ends[0], answer, sizeof(answer) - 1) < 0)
        abort();
    snprintf(request, sizeof(request), "own,all_there\n%d,1\n", (int)(intptr_t)argument);
    return (void *)(intptr_t)(code ? code : strcmp(answer, request) ? EPROTO : 0);
}

static pthread_barrier_t g_begin;

static void *begin_together(void *argument)
{
    free(keep(malloc(100)));
    pthread_barrier_wait(&g_begin);
    return ask_at_once(argument);
}

static void together(void)
{
    pthread_t threads[N_THREADS];
    int code = 0;

    pthread_barrier_init(&g_begin, NULL, N_THREADS);
    for (intptr_t i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, begin_together, (void *)i);
    for (int i = 0; i < N_THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        code = code ? code : (int)(intptr_t)result;
    }
    say("together", code);
}

enum {
    N_EAGER = 4,
    N_REQUESTS = 5,
};

static void *ask_again(void *code)
{
    pthread_barrier_wait(&g_begin);
    for (int i = 0; i < N_REQUESTS && *(int *)code == 0; i++)
        *(int *)code = mtrace_report("threads --no-symbols", open("/dev/null", O_WRONLY));
    return NULL;
}

static void without_end(void)
{
    say("without_end",
        mtrace_report("sql 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                      "SELECT count(*) FROM c'",
                      STDERR_FILENO));
    say("next", mtrace_report("threads", open("/dev/null", O_WRONLY)));
}

static void in_turn(void)
{
    pthread_t threads[N_EAGER];
    int codes[N_EAGER] = {0};
    int code = 0;

    pthread_barrier_init(&g_begin, NULL, N_EAGER);
    for (int i = 0; i < N_EAGER; i++)
        pthread_create(&threads[i], NULL, ask_again, &codes[i]);
    for (int i = 0; i < N_EAGER; i++) {
        pthread_join(threads[i], NULL);
        code = code ? code : codes[i];
    }
    say("in_turn", code);
}

/* ---- a signal interrupts a request: as many tries as that takes ---- */

enum {
    N_TRIES = 1000,
    N_LEFT = 3,
    LONGEST_MS = 6,
};

static volatile sig_atomic_t g_is_asking, g_was_asking;
static int g_code_of_handler;

static void change_mask(int how)
{
    sigset_t usr2;

    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    pthread_sigmask(how, &usr2, NULL);
}

/* The signal is unblocked as long as the thread requests. */
static int ask_disturbed(void)
{
    g_is_asking = 1;
    change_mask(SIG_UNBLOCK);
    int code = mtrace_report("threads", open("/dev/null", O_WRONLY | O_CLOEXEC));
    change_mask(SIG_BLOCK);
    g_is_asking = 0;
    return code;
}

static void *ask_elsewhere(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)ask_disturbed();
}

static useconds_t g_delay_us;

static void *disturb(void *thread)
{
    usleep(g_delay_us);
    pthread_kill(*(pthread_t *)thread, SIGUSR2);
    return NULL;
}

static void handle(int number)
{
    (void)number;
    g_code_of_handler = mtrace_report("threads", STDERR_FILENO);
}

/* Requests that come in before the lock is taken are answered, others fail. */
static void in_handler(void)
{
    pthread_t self = pthread_self();
    pthread_t thread;
    int code = 0;

    signal(SIGUSR2, handle);
    for (int i = 0; i < N_TRIES && code == 0 && g_code_of_handler == 0; i++) {
        g_delay_us = (useconds_t)(i % LONGEST_MS) * 1000;
        change_mask(SIG_BLOCK);
        pthread_create(&thread, NULL, disturb, &self);
        code = ask_disturbed();
        pthread_join(thread, NULL);
    }
    say("requester", code);
    say("handler", g_code_of_handler);
}

static sigjmp_buf g_back;

static void leave(int number)
{
    (void)number;
    g_was_asking = g_is_asking;
    siglongjmp(g_back, 1);
}

static void end_thread(int number)
{
    (void)number;
    g_was_asking = g_is_asking;
    pthread_exit(NULL);
}

static bool leave_by_jump(void)
{
    pthread_t self = pthread_self();
    pthread_t thread;

    signal(SIGUSR2, leave);
    pthread_create(&thread, NULL, disturb, &self);
    if (sigsetjmp(g_back, 1) == 0)
        (void)ask_disturbed();
    pthread_join(thread, NULL);
    return g_was_asking;
}

static bool leave_by_end(void)
{
    pthread_t thread;

    signal(SIGUSR2, end_thread);
    pthread_create(&thread, NULL, ask_elsewhere, NULL);
    (void)disturb(&thread);
    pthread_join(thread, NULL);
    return g_was_asking;
}

/* Repeats until some signals interrupted it. */
static void leave_often(bool (*leave_once)(void))
{
    for (int i = 0, n = 0; i < N_TRIES && n < N_LEFT; i++) {
        g_delay_us = (useconds_t)(i % LONGEST_MS) * 1000;
        g_was_asking = 0;
        change_mask(SIG_BLOCK);
        n += leave_once();
        signal(SIGUSR2, SIG_IGN); /* one that came too late is forgotten */
    }
}

/* The lock for requests is never held forever: threads leave it by siglongjmp, or exit while they
 * hold it. */
static void left_behind(void)
{
    pthread_t thread;
    void *result;

    leave_often(leave_by_jump);
    pthread_create(&thread, NULL, ask_elsewhere, NULL);
    pthread_join(thread, &result);
    say("elsewhere", (int)(intptr_t)result);
    leave_often(leave_by_jump);
    say("again", ask_disturbed());
    leave_often(leave_by_end);
    say("after_its_end", ask_disturbed());
}

static void in_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        free(keep(malloc(3777)));
        say("child", mtrace_report("threads", open("/dev/null", O_WRONLY)));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("parent", mtrace_report("threads", open("/dev/null", O_WRONLY)));
}

/* Its parent has exited, and its recorder waits for any child. */
static void outlives(void)
{
    pid_t parent = getpid();

    if (fork() != 0)
        return;
    while (getppid() == parent)
        usleep(1000);
    free(keep(malloc(3777)));
    for (int i = 0; i < 3; i++) {
        int code = mtrace_report("threads", open("/dev/null", O_WRONLY));
        dprintf(STDOUT_FILENO, "orphan%d %s\n", i, code ? strerrorname_np(code) : "0");
    }
    _exit(0);
}

static void *kill_recorder(void *unused)
{
    usleep(2000);
    kill(getppid(), SIGKILL);
    return unused;
}

static void left_alone(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, kill_recorder, NULL);
    int code = mtrace_report("threads", open("/dev/null", O_WRONLY));
    pthread_join(thread, NULL);
    usleep(10000);
    say("again", mtrace_report("threads", open("/dev/null", O_WRONLY)));
    (void)code;
}

static int ask_into(const char *path, const char *request)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int code = mtrace_report(request, fd);

    close(fd);
    return code;
}

/* Answers that are more than rows of totals, into files of the current folder. */
static void more_than_totals(void)
{
    char *slab = own_malloc(1000);
    uint32_t pool = mtrace_pool_create("arena");

    mtrace_pool_alloc(pool, slab, 300);
    mtrace_pool_alloc(pool, slab + 300, 50);
    mtrace_pool_free(pool, slab + 300);
    say("rule", ask_into("rule.csv", "leaks --csv --fail-if 'leaked_bytes > 0'"));
    say("no_rule", ask_into("no_rule.csv", "leaks --csv --fail-if 'leaked_bytes > 1000000000'"));
    say("page", ask_into("page.html", "report"));
    say("pools", ask_into("pools.csv", "by-pool --csv"));
    say("views",
        ask_into("views.csv", "sql --csv \"SELECT sum(name = 'leaks') AS n FROM sqlite_schema\""));
    say("stack", ask_into("stack.txt", "stack 99999"));
    say("quote", ask_into("quote.txt", "leaks 'unclosed"));
    say("blank", ask_into("blank.txt", " "));
    say("about", ask_into("about.txt", "leaks --about=x"));
    say("late", ask_into("late.txt", "leaks --time-limit 1ns"));
}

enum {
    N_QUIET = 5,
};

static long milliseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How often the requesting thread sleeps, once its recorder is there. */
static long switches_of(pid_t pid)
{
    char line[128];
    long n = -1;
    FILE *file;

    (void)snprintf(line, sizeof line, "/proc/%d/status", (int)pid);
    file = fopen(line, "re");
    while (file && n < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &n);
    if (file)
        fclose(file);
    return n;
}

/* Of the recorder's main thread, while the program does nothing any more. */
static long looks_of_recorder(void)
{
    const struct timespec rest = {.tv_sec = 2};
    long before = switches_of(getppid());

    nanosleep(&rest, NULL);
    return switches_of(getppid()) - before;
}

static void quietly(void)
{
    struct rusage before, after;
    int null = open("/dev/null", O_WRONLY);
    int code = mtrace_report("threads --no-symbols", null);
    long ms = milliseconds();

    getrusage(RUSAGE_THREAD, &before);
    for (int i = 0; i < N_QUIET && code == 0; i++)
        code = mtrace_report("threads --no-symbols", null);
    getrusage(RUSAGE_THREAD, &after);
    printf("ms %ld\nsleeps %ld\n", milliseconds() - ms, after.ru_nvcsw - before.ru_nvcsw);
    printf("looks %ld\n", looks_of_recorder());
    say("quietly", code);
}

enum {
    N_CROWD = 60,
};

static void *ask_in_crowd(void *sleeps)
{
    struct rusage before, after;
    int null = open("/dev/null", O_WRONLY);

    pthread_barrier_wait(&g_begin);
    getrusage(RUSAGE_THREAD, &before);
    int code = mtrace_report("threads --no-symbols", null);
    getrusage(RUSAGE_THREAD, &after);
    *(long *)sleeps = after.ru_nvcsw - before.ru_nvcsw;
    return (void *)(intptr_t)code;
}

/* All but one wait for their turn. */
static void crowd(void)
{
    pthread_t threads[N_CROWD];
    long sleeps[N_CROWD], n_sleeps = 0;
    long ms = milliseconds();
    int code = 0;

    pthread_barrier_init(&g_begin, NULL, N_CROWD);
    for (int i = 0; i < N_CROWD; i++)
        pthread_create(&threads[i], NULL, ask_in_crowd, &sleeps[i]);
    for (int i = 0; i < N_CROWD; i++) {
        void *result;
        pthread_join(threads[i], &result);
        code = code ? code : (int)(intptr_t)result;
        n_sleeps += sleeps[i];
    }
    printf("ms %ld\nthreads %d\nsleeps %ld\n", milliseconds() - ms, N_CROWD, n_sleeps);
    say("crowd", code);
}

/* Charges blocks to a group and gives some of them back. */
static void charge(void)
{
    struct mtrace_scope scope = mtrace_enter(mtrace_group_register("held", NULL, 0));

    for (unsigned i = 0; i < N_CHARGED; i++) {
        void *block = own_malloc(i);
        if (i % 3 == 0)
            own_free(block, i);
    }
    mtrace_exit(scope);
}

/* Holds a block until its input ends; other processes request reports about it. Its own counts are
 * those of its group. */
static void wait_for_end(void)
{
    charge();
    unsigned long long allocated = own.allocated, freed = own.freed;
    unsigned long long allocated_bytes = own.allocated_bytes, freed_bytes = own.freed_bytes;
    own_malloc(123);
    say("ready", 0);
    while (getchar() != EOF)
        ;
    expect("allocated_blocks", allocated);
    expect("allocated_bytes", allocated_bytes);
    expect("freed_blocks", freed);
    expect("freed_bytes", freed_bytes);
    expect("leaked_blocks", allocated - freed);
    expect("leaked_bytes", allocated_bytes - freed_bytes);
}

/* One request for each line of input. */
static void ask_by_line(void)
{
    int c;

    say("ready", 0);
    while ((c = getchar()) != EOF)
        if (c == '\n')
            say("answer", mtrace_report("groups --csv", STDERR_FILENO));
}

int main(int argc, char **argv)
{
    static const struct workload_part parts[] = {
        {"senseless", senseless},       {"unread", unread},
        {"together", together},         {"in_handler", in_handler},
        {"unprivileged", unprivileged}, {"in_child", in_child},
        {"left_alone", left_alone},     {"in_turn", in_turn},
        {"without_end", without_end},   {"wait", wait_for_end},
        {"by_line", ask_by_line},       {"outlives", outlives},
        {"left_behind", left_behind},   {"more", more_than_totals},
        {"quietly", quietly},           {"crowd", crowd}};

    return RUN_PART(parts, argc > 1 ? argv[1] : NULL);
}
