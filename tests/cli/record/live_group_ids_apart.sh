# After a fork parent and child number new groups independently. Conflicting numbers are replaced, in live reports and in the import of the
# process tree.
. "$CASES/../lib.sh"
cat >program.c <<'EOC'
#include <mtrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile g_kept;

static uint32_t charge(const char *name, size_t size_bytes)
{
    uint32_t group = mtrace_group_register(name, NULL, 0);
    struct mtrace_scope scope = mtrace_enter(group);

    g_kept = malloc(size_bytes);
    mtrace_exit(scope);
    printf("the program knows %s as %u\n", name, (unsigned)group);
    fflush(stdout);
    return group;
}

static void ask(uint32_t group)
{
    char request[64];

    snprintf(request, sizeof(request), "by-group --csv --group %u", (unsigned)group);
    printf("code %d\n", mtrace_report(request, 1));
    fflush(stdout);
}

static void wait_for(int fd)
{
    char byte;

    if (read(fd, &byte, 1) != 1)
        _exit(1);
}

static void be_child(int from_parent, int to_parent)
{
    charge("child-b", 101);
    ask(charge("child-c", 102));
    write(to_parent, "", 1);
    wait_for(from_parent);
    ask(charge("child-d", 103));
    _exit(0);
}

int main(void)
{
    int to_child[2], to_parent[2];
    uint32_t group;

    pipe(to_child);
    pipe(to_parent);
    charge("base", 50);
    if (fork() == 0)
        be_child(to_child[0], to_parent[1]);
    wait_for(to_parent[0]);
    ask(charge("parent-a", 201));
    kill(getppid(), SIGUSR1);
    while (access("run.dat.report.1.txt", F_OK) != 0)
        usleep(2000);
    write(to_child[1], "", 1);
    wait(NULL);
    return 0;
}
EOC
api=$(dirname "$(dirname "$CASES")")
gcc -O0 -fno-builtin -w -I"${api%/tests*}/include" -o program program.c
mtrace-record -q --follow-children --report-signal USR1 -o run.dat -- ./program | sed 's/^[0-9]*,\([0-9]*\),.*,\([0-9]*,[a-z-]*\),,,,$/\1,\2/; /^process_id/d'
sed '1,/^== by-group/d' run.dat.report.1.txt | awk '/^ *[0-9]/ && $(NF - 5) > 1 { print $1, $(NF - 5), $(NF - 4) }'
mtrace-import --no-symbols run.dat run.db 2>/dev/null
mtrace-query sql "SELECT process_id, group_id, name, allocated_bytes FROM group_totals JOIN allocation_groups USING (group_id) WHERE group_id > 1 AND allocated_bytes ORDER BY 1, 2" --csv run.db
mtrace-import --no-symbols --only "$(ls run.dat.*.0)" child.db 2>/dev/null
mtrace-query sql "SELECT group_id, name, allocated_bytes FROM group_totals JOIN allocation_groups USING (group_id) WHERE group_id > 1 AND allocated_bytes ORDER BY 1" --csv child.db
# expect stdout
#|the program knows base as 2
#|the program knows child-b as 3
#|the program knows child-c as 4
#|102,4,child-c
#|code 0
#|the program knows parent-a as 3
#|201,3,parent-a
#|code 0
#|the program knows child-d as 5
#|103,5,child-d
#|code 0
#|1 3 parent-a
#|2 4 child-c
#|2 5 child-b
#|1 2 base
#|process_id,group_id,name,allocated_bytes
#|1,2,base,50
#|1,3,parent-a,201
#|2,4,child-c,102
#|2,5,child-d,103
#|2,6,child-b,101
#|group_id,name,allocated_bytes
#|3,child-b,101
#|4,child-c,102
#|5,child-d,103
