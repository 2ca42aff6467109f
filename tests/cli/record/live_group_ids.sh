# Group numbers equal those of the program, also in a live report of a fork child, whose log defines few of its parent's groups, and in an
# import of the process tree.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include <mtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile g_kept;

static void charge(uint32_t group, size_t size_bytes)
{
    struct mtrace_scope scope = mtrace_enter(group);
    unsigned number = mtrace_current_group();
    char request[64];

    g_kept = malloc(size_bytes);
    mtrace_exit(scope);
    printf("the program's number: %u\n", number);
    fflush(stdout);
    snprintf(request, sizeof(request), "by-group --csv --group %u", (unsigned)group);
    printf("code %d\n", mtrace_report(request, 1));
    fflush(stdout);
}

int main(void)
{
    uint32_t group = 0;

    for (int i = 0; i < 40; i++)
        group = mtrace_group_register("unused", NULL, 0);
    group = mtrace_group_register("request", NULL, 0);
    charge(group, 4321);
    pid_t child = fork();
    if (child == 0) {
        charge(group, 77);
        charge(mtrace_group_register("of the child", NULL, 0), 78);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
EOF
api=$(dirname "$(dirname "$CASES")")
gcc -O0 -fno-builtin -w -I"${api%/tests*}/include" -o program program.c
mtrace-record -q --follow-children -o run.dat -- ./program | sed 's/^[0-9]*,\([0-9]*\),.*,\([0-9]*,[a-z ]*\),,,,$/\1,\2/; /^process_id/d'
mtrace-import --no-symbols run.dat run.db 2>/dev/null
mtrace-query sql "SELECT process_id, group_id, name, allocated_bytes FROM group_totals JOIN allocation_groups USING (group_id) WHERE group_id > 1 AND allocated_bytes" --csv run.db
mtrace-import --no-symbols --only "$(ls run.dat.*.0)" child.db 2>/dev/null
mtrace-query sql "SELECT group_id, name, allocated_bytes FROM group_totals JOIN allocation_groups USING (group_id) WHERE group_id > 1 AND allocated_bytes" --csv child.db
# expect stdout
#|the program's number: 42
#|4321,42,request
#|code 0
#|the program's number: 42
#|77,42,request
#|code 0
#|the program's number: 43
#|78,43,of the child
#|code 0
#|process_id,group_id,name,allocated_bytes
#|1,42,request,4321
#|2,42,request,77
#|2,43,of the child,78
#|group_id,name,allocated_bytes
#|42,request,77
#|43,of the child,78
