# A recording that is not the whole run says so: begun later, switched off at times, its live log cut.
. "$CASES/../lib.sh"
printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int argc, char **argv) { while (argc-- > 1) raise(SIGUSR1); (void)argv; return malloc(9) ? 0 : 1; }\n' >program.c
gcc -O0 -fno-builtin -o program program.c
complain mtrace-record -o later.dat --start-disabled -- ./program on
complain mtrace-record -o twice.dat --start-disabled -- ./program on off
printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) { return !malloc(9) || usleep(200000) || truncate("cut.dat.live", 0) || raise(SIGKILL); }\n' >cut.c
gcc -O0 -fno-builtin -o cut cut.c
complain mtrace-record -o cut.dat -- ./cut
ls cut.dat*
mtrace-import cut.dat cut.db >import.txt 2>&1 || cat import.txt
mtrace-record -q -o whole.dat -- ./program
for name in later twice whole; do
    mtrace-import --no-symbols $name.dat $name.db 2>>import.txt
    echo "$name: $(sqlite3 $name.db "SELECT value FROM meta WHERE key = 'processes.partial'")"
done
grep -c 'not recorded from the start on or all the time' import.txt
