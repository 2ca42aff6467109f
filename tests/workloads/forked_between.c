/* SPDX-License-Identifier: MIT */
/*
 * forked_between WHAT [PLUGIN [leave]]: a signal handler forks at each instruction of the collector
 * in a call about the program itself: a name, a phase, a mapping. The child returns from the
 * handler and continues the interrupted code. WHAT: see `calls`; report: while it waits for one;
 * message: a message of an unrecorded child.
 *
 * leave: the handler does not fork, but leaves by siglongjmp. No opened file or mapping may be left
 * behind.
 */
#include "include/mtrace.h"
#include "include/mtrace_objects.h"
#include "tests/workloads/stepper.h"
#include "tests/workloads/workload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>

enum {
    MAX_POINTS = 30000,
    N_AFTER = 10,
    N_REPORTS = 20,
    MAX_PAGES_MORE = 4096,
    MAX_DESCRIPTORS = 65536,
    N_KEY_ROUNDS = 4, /* of destructors, of glibc */
    ALARM_US = 3000,
    N_REPORTS_LEFT = 4,
};

static volatile bool is_child;
static bool leaves;
static sigjmp_buf outside;
static volatile unsigned n_forked, n_well;
static unsigned n_calls; /* which makes names new */
static const char *plugin;

static void on_signal(int number)
{
    int error = errno;
    int status = -1;
    pid_t child;

    (void)number;
    if (leaves) {
        n_forked++;
        n_well++;
        siglongjmp(outside, 1);
    }
    child = fork();
    if (child == 0) {
        is_child = true;
    } else {
        n_forked++;
        n_well += waitpid(child, &status, 0) == child && status == 0;
    }
    errno = error;
}

static unsigned long count_pages(void)
{
    char bytes[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);

    if (read(file, bytes, sizeof(bytes) - 1) <= 0)
        abort();
    close(file);
    return strtoul(bytes, NULL, 10);
}

static unsigned count_descriptors(void)
{
    unsigned n = 0;

    for (int i = 0; i < MAX_DESCRIPTORS; i++)
        n += fcntl(i, F_GETFD) >= 0;
    return n;
}

/* ---- the interrupted code: before, the call, after ---- */

static char name[64];
static int fd = -1;
static void *mapped, *handle;
static struct mtrace_walk *walk;

static void make_name(void)
{
    snprintf(name, sizeof(name), "n%u", n_calls++);
}

static void register_group(void)
{
    (void)mtrace_group_register(name, NULL, 0);
}

static void intern_group(void)
{
    const struct mtrace_tag tag = {"key", name};

    (void)mtrace_group_intern("group", &tag, 1);
}

static void mark(void)
{
    mtrace_marker(name);
}

static void go_through_phase(void)
{
    mtrace_phase_end(mtrace_phase_begin(name));
}

static void use_pool(void)
{
    uint32_t pool = mtrace_pool_create(name);

    mtrace_pool_alloc(pool, name, 10);
    mtrace_pool_resize(pool, name, name, 20);
    mtrace_pool_free(pool, name);
    mtrace_pool_destroy(pool);
}

static void take_wrong_handles(void)
{
    mtrace_exit(mtrace_enter(12345));
    mtrace_exit((struct mtrace_scope){7, 7, 7});
    mtrace_pool_alloc(12345, name, 10);
}

static void look_at_counters(void)
{
    (void)mtrace_counters();
}

static void make_walk(void)
{
    make_name();
    walk = mtrace_walk_new();
}

static void record_walk(void)
{
    (void)mtrace_walk_record(walk, name);
}

static void free_walk(void)
{
    mtrace_walk_free(walk);
}

static void name_thread(void)
{
    pthread_setname_np(pthread_self(), name);
}

static void name_itself(void)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Calls without an event of their own come first: after the first one that forks all memory is
 * inherited. */
static void trim(void)
{
    (void)mallinfo2();
    malloc_trim(0);
}

static void set_allocator(void)
{
    mallopt(M_MMAP_MAX, 1000);
}

static void make_file(void)
{
    make_name();
    fd = memfd_create(name, 0);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        abort();
}

static void map_file(void)
{
    mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
}

static void unmap_file(void)
{
    munmap(mapped, 4096);
    close(fd);
}

static void open_plugin(void)
{
    void *(*allocate)(unsigned);

    handle = dlopen(plugin, RTLD_NOW);
    allocate = handle ? (void *(*)(unsigned))dlsym(handle, "leak_in_left_twin") : NULL;
    if (allocate == NULL)
        abort();
    free(keep(allocate(1)));
}

static void close_plugin(void)
{
    dlclose(handle);
}

static void switch_tracking(void)
{
    mtrace_tracking(false);
    free(keep(malloc(100)));
    mtrace_tracking(true);
}

static void make_child(void)
{
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void fail_to_exec(void)
{
    execl("/nowhere/at-all", "at-all", (char *)NULL);
}

static void *use_heap_once(void *unused)
{
    (void)unused;
    free(keep(malloc(100)));
    return NULL;
}

static void be_silent(void)
{
}

/* Only to see that a child without a log writes to none. */
static void speak_in_child(void)
{
    void (*speak)(uint64_t) =
        (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "memory_profiler_override_next_timestamp");
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        if (speak)
            speak(1);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
}

static void be_child(void)
{
    for (int i = 0; i < N_AFTER; i++)
        free(keep(malloc(OWN_BYTES(3))));
    _exit(0);
}

/* ---- the end of a thread: from the return of its function to a destructor after the collector's
 * last one ---- */

static const struct stepper_point *point_now; /* NULL: look for points */
static pthread_key_t key;

static void begin_to_step(void)
{
    if (point_now != NULL)
        stepper_begin(*point_now);
    else
        stepper_look();
}

static void die(void *value)
{
    static _Thread_local unsigned n_rounds;

    if (++n_rounds < N_KEY_ROUNDS) {
        pthread_setspecific(key, value);
        return;
    }
    if (is_child)
        be_child();
    stepper_end();
}

static void *be_dying(void *unused)
{
    (void)use_heap_once(unused);
    pthread_setspecific(key, name);
    begin_to_step();
    return NULL;
}

static void end_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, be_dying, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}

/* ---- all calls ---- */

static const struct call {
    const char *what;
    void (*before)(void), (*call)(void), (*after)(void);
} calls[] = {
    {"group", make_name, register_group, be_silent},
    {"intern", make_name, intern_group, be_silent},
    {"marker", make_name, mark, be_silent},
    {"phase", make_name, go_through_phase, be_silent},
    {"pool", make_name, use_pool, be_silent},
    {"handles", make_name, take_wrong_handles, be_silent},
    {"counters", be_silent, look_at_counters, be_silent},
    {"objects", make_walk, record_walk, free_walk},
    {"setname", make_name, name_thread, be_silent},
    {"prctl", make_name, name_itself, be_silent},
    {"trim", be_silent, trim, be_silent},
    {"mallopt", be_silent, set_allocator, be_silent},
    {"map", make_file, map_file, unmap_file},
    {"dlclose", open_plugin, close_plugin, be_silent},
    {"tracking", be_silent, switch_tracking, be_silent},
    {"child", be_silent, make_child, be_silent},
    {"exec", be_silent, fail_to_exec, be_silent},
    {"thread_end", be_silent, end_thread, be_silent},
};

/* NULL: look for points. */
static void interrupt(const struct call *call, const struct stepper_point *point)
{
    point_now = point;
    call->before();
    if (sigsetjmp(outside, 1) == 0) {
        if (call->call != end_thread) /* which steps itself */
            begin_to_step();
        call->call();
    }
    if (is_child)
        be_child();
    if (call->call != end_thread)
        stepper_end();
    call->after();
}

static void interrupt_each(const struct call *call)
{
    static struct stepper_point points[MAX_POINTS];
    unsigned n_points;

    call->before();
    call->call();
    call->after();
    interrupt(call, NULL);
    n_points = stepper_n_points();
    if (n_points > MAX_POINTS || (n_points == 0 && mtrace_present()))
        abort();
    for (unsigned i = 0; i < n_points; i++)
        points[i] = stepper_point(i);
    for (unsigned i = 0; i < n_points; i++)
        interrupt(call, &points[i]);
    if (getenv("STEPPED_SAY"))
        fprintf(stderr, "%u of %u points forked, %u well\n", n_forked, n_points, n_well);
}

/* A write to it blocks. */
static int open_full_pipe(int *ret_other)
{
    static const char bytes[65536];
    int ends[2];

    if (pipe2(ends, O_NONBLOCK) != 0)
        abort();
    while (write(ends[1], bytes, sizeof(bytes)) > 0)
        continue;
    fcntl(ends[1], F_SETFL, 0);
    *ret_other = ends[0];
    return ends[1];
}

/* It waits for the recorder, and forks there; or for the reader of the answer, and leaves. */
static void ask_often(void)
{
    const struct itimerval often = leaves ? (struct itimerval){{0, 0}, {1, 0}}
                                          : (struct itimerval){{0, ALARM_US}, {0, ALARM_US}};
    const unsigned n_reports = leaves ? N_REPORTS_LEFT : N_REPORTS;
    const struct itimerval never = {{0, 0}, {0, 0}};
    int other = -1;
    const int to =
        leaves && mtrace_present() ? open_full_pipe(&other) : open("/dev/null", O_WRONLY);

    for (volatile unsigned i = 0; i < n_reports; i++) {
        if (i == 0 || leaves)
            setitimer(ITIMER_REAL, &often, NULL);
        int code = sigsetjmp(outside, 1) == 0 ? mtrace_report("summary", to) : 0;
        if (is_child)
            be_child();
        if (mtrace_present() && code != 0 && code != ENOTCONN)
            abort();
    }
    setitimer(ITIMER_REAL, &never, NULL);
    close(to);
    if (leaves) /* closes the descriptor that the last one left: the write to it fails */
        (void)mtrace_report("summary", to);
    close(other);
    if (getenv("STEPPED_SAY"))
        fprintf(stderr, "%u forked, %u well\n", n_forked, n_well);
}

/* Some memory stays with the collector for good, as does that of an answer that is not requested
 * again. */
static bool has_left_nothing(unsigned n_descriptors, unsigned long n_pages)
{
    unsigned n_descriptors_now = count_descriptors();
    unsigned long n_pages_now = count_pages();

    if (!leaves || (n_descriptors_now == n_descriptors && n_pages_now < n_pages + MAX_PAGES_MORE))
        return true;
    fprintf(stderr, "%u descriptors, then %u; %lu pages, then %lu\n", n_descriptors,
            n_descriptors_now, n_pages, n_pages_now);
    return false;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const char *what = argc > 1 ? argv[1] : "marker";
    unsigned n_descriptors = count_descriptors();
    unsigned long n_pages;
    pthread_t thread;

    plugin = argc > 2 ? argv[2] : NULL;
    leaves = argc > 3;
    if (pthread_create(&thread, NULL, use_heap_once, NULL) == 0)
        pthread_join(thread, NULL);
    if (strcmp(what, "message") == 0) {
        speak_in_child();
        return 0;
    }
    pthread_key_create(&key, die);
    n_pages = count_pages();
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    if (strcmp(what, "report") == 0) {
        ask_often();
        return n_well == n_forked && has_left_nothing(n_descriptors, n_pages) ? 0 : 1;
    }
    if (!stepper_start())
        skip("no process may trace another here");
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (strcmp(calls[i].what, what) == 0)
            interrupt_each(&calls[i]);
    stepper_stop();
    return n_well == n_forked && has_left_nothing(n_descriptors, n_pages) ? 0 : 1;
}
