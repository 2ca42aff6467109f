/* SPDX-License-Identifier: MIT */
#include "recorder/attach/urgency.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LIFTED_PRIORITY = 1,
    OWN_PRIORITY = 2, /* UR-2 */
    FLAG_RESET_ON_FORK = 1,
    NICE_BESIDE = -20,
};

/* The first version of the kernel's struct; linux/sched/types.h, which declares it, conflicts with
 * sched.h. */
struct attributes {
    uint32_t n_bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

/* False for a thread with another kind of policy: it already has the priority it needs. */
static bool find_fair(pid_t tid, struct attributes *ret)
{
    memset(ret, 0, sizeof(*ret));
    return syscall(SYS_sched_getattr, tid, ret, sizeof(*ret), 0) == 0
           && (ret->policy == SCHED_OTHER || ret->policy == SCHED_BATCH
               || ret->policy == SCHED_IDLE);
}

static int policy_of(const struct attributes *attributes)
{
    return (int)attributes->policy
           | (attributes->flags & FLAG_RESET_ON_FORK ? SCHED_RESET_ON_FORK : 0);
}

static bool set_policy(pid_t tid, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};

    return sched_setscheduler(tid, policy, &param) == 0;
}

/* prlimit returns limits only with permission to set them. */
void urgency_look(struct urgency *urgency, pid_t pid)
{
    char path[64];
    char line[128];
    char limit[16];
    FILE *file;

    urgency->may_lift = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "Max realtime timeout %15s", limit) == 1)
            urgency->may_lift = strcmp(limit, "unlimited") == 0;
    fclose(file);
}

void urgency_prepare(void)
{
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE_BESIDE);
}

void urgency_take(struct urgency *urgency)
{
    struct attributes own;

    if (urgency->is_taken || !find_fair(0, &own))
        return;
    urgency->slice_ns = own.slice_ns;
    urgency->policy = policy_of(&own);
    urgency->is_taken = set_policy(0, SCHED_FIFO, OWN_PRIORITY);
}

void urgency_give(struct urgency *urgency)
{
    if (urgency->is_taken)
        (void)set_policy(0, urgency->policy, 0);
    urgency->is_taken = false;
}

/* The kernel treats threads like processes here, but /proc does not list them. */
static FILE *open_slack(pid_t tid, const char *mode)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/timerslack_ns", (int)tid);
    return fopen(path, mode);
}

/* Without read permission there is no write permission. */
static bool read_slack(pid_t tid, uint64_t *ret_ns)
{
    FILE *file = open_slack(tid, "re");
    bool is_read = file && fscanf(file, "%" SCNu64, ret_ns) == 1;

    if (file)
        fclose(file);
    return is_read;
}

static void write_slack(pid_t tid, uint64_t ns)
{
    FILE *file = open_slack(tid, "we");

    if (!file)
        return;
    (void)fprintf(file, "%" PRIu64, ns);
    fclose(file);
}

/* A time slice of its own (Linux 6.12), which differs from ours, would be lost. */
bool urgency_find(const struct urgency *urgency, pid_t tid, struct urgency_before *ret_before)
{
    struct attributes its;

    if (!urgency->may_lift || !urgency->is_taken || !find_fair(tid, &its)
        || its.slice_ns != urgency->slice_ns || !read_slack(tid, &ret_before->timer_slack_ns))
        return false;
    ret_before->policy = policy_of(&its);
    return true;
}

bool urgency_lift(pid_t tid, const struct urgency_before *before)
{
    return set_policy(tid, SCHED_FIFO | (before->policy & SCHED_RESET_ON_FORK), LIFTED_PRIORITY);
}

void urgency_lower(pid_t tid, const struct urgency_before *before)
{
    struct sched_param param;

    if ((sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO
        && sched_getparam(tid, &param) == 0 && param.sched_priority == LIFTED_PRIORITY
        && set_policy(tid, before->policy, 0))
        write_slack(tid, before->timer_slack_ns);
}
