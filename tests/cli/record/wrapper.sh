# A wrapper that ends in exec: the new image belongs to the same run and is recorded without --follow-children; forked children are not.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include <stdlib.h>

int main(void)
{
    for (int i = 0; i < 50; i++)
        if (!malloc(4777))
            return 1;
    return 0;
}
END
gcc -O0 -fno-builtin -o program program.c
printf '#!/usr/bin/env -S sh\n./program\nexec ./program\n' >tool
chmod +x tool
blocks() {
    mtrace-import "$1.dat" "$1.db" >import.txt 2>&1 || cat import.txt
    mtrace-query sql "SELECT count(DISTINCT a.process_id) AS processes, count(*) AS blocks FROM allocations AS a
        WHERE size_bytes = 4777" "$1.db" --format csv | tail -1
}
complain mtrace-record -o run.dat -- ./tool
blocks run
complain mtrace-record -o clean.dat -- env -i ./program
blocks clean
complain mtrace-record --follow-children -o followed.dat -- ./tool
blocks followed
# A long title over the arguments, as setproctitle writes it, does not remove the settings.
printf '#include <string.h>\n#include <unistd.h>\nint main(int argc, char **argv, char **all) { while (argc-- > 1 || *all) { char *old = argc > 0 ? argv[argc] : *all++; memset(old, 120, strlen(old)); } return execl("./program", "program", (char *)0); }\n' >title.c
gcc -O0 -w -o title title.c
complain mtrace-record -o title.dat -- ./title
blocks title
# The same without a recorder.
LD_PRELOAD=$(dirname "$(command -v mtrace-record)")/../lib/mtrace/libmtrace.so MTRACE_OUTPUT=bare.dat ./tool
blocks bare
# expect stdout
#|status 0, lines on stderr 1
#|1,50
#|status 0, lines on stderr 1
#|1,50
#|status 0, lines on stderr 1
#|2,100
#|status 0, lines on stderr 1
#|1,50
#|1,50
# expect stderr glob
#|mtrace-record: run.dat and 2 logs of what it executed: *; it started 1 process that is not recorded: --follow-children records that, too; next: mtrace-query run.dat
#|mtrace-record: clean.dat and 1 log of what it executed: *; next: mtrace-query clean.dat
#|mtrace-record: followed.dat and 3 logs of child processes: *; next: mtrace-query followed.dat
#|mtrace-record: title.dat and 1 log of what it executed: *; next: mtrace-query title.dat
