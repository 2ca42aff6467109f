# A recording of only a part of the run is reported as such: attached late, switched off at times, or with a cut live log.
. "$CASES/../lib.sh"
printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(int argc, char **argv) { while (argc-- > 1) raise(SIGUSR1); (void)argv; return malloc(9) ? 0 : 1; }\n' >program.c
gcc -O0 -fno-builtin -o program program.c
complain mtrace-record -o later.dat --start-disabled -- ./program on
complain mtrace-record -o never.dat --start-after=1h -- ./program
complain mtrace-record -o twice.dat --start-disabled -- ./program on off on
printf '#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) { return !malloc(9) || usleep(200000) || truncate("cut.dat.live", 0) || raise(SIGKILL); }\n' >cut.c
gcc -O0 -fno-builtin -o cut cut.c
complain mtrace-record -o cut.dat -- ./cut
ls cut.dat*
mtrace-import cut.dat cut.db >import.txt 2>&1 || cat import.txt
mtrace-record -q -o whole.dat -- ./program
mv cut.db cut_before.db
for name in later twice whole cut; do
    mtrace-import --no-symbols $name.dat $name.db 2>>import.txt
    echo "$name: $(sqlite3 $name.db "SELECT group_concat(substr(key, 11) || ' ' || value, ', ') FROM (SELECT * FROM meta WHERE key GLOB 'processes.partial*' ORDER BY key)")"
done
printf '#include <unistd.h>\nint main(int argc, char **argv) { usleep(200000); return argc > 1 ? execv(argv[0], (char *[]){argv[0], 0}) : 0; }\n' >again.c
gcc -o again again.c
mtrace-record -q -o again.dat -- ./again x
mtrace-import --no-symbols again.dat again.db 2>>import.txt
sqlite3 again.db "SELECT p.end_kind, p.end_ns <= q.start_ns FROM processes p JOIN processes q ON p.process_id = 1 AND q.process_id = 2"
grep -c 'not recorded from the start on or all the time' import.txt
# expect stdout
#|status 0, lines on stderr 2
#|status 0, lines on stderr 2
#|status 0, lines on stderr 3
#|status 137, lines on stderr 2
#|cut.dat
#|later: partial 1, partial.1 1
#|twice: partial 1, partial.1 1
#|whole: partial 0
#|cut: partial 1, partial.1 1
#|exec|1
#|4
# expect stderr glob
#|mtrace-record: './program' is recorded in part: recording was off at first*
#|mtrace-record: later.dat: *; next: mtrace-query later.dat
#|mtrace-record: nothing was recorded of './program': it ended before the time of --start-after or the size of --start-at-rss was reached
#|mtrace-record: never.dat: *; next: mtrace-query never.dat
#|mtrace-record: './program' is recorded in part: recording was off at first*
#|mtrace-record: './program' is recorded in part: recording was switched off at times*
#|mtrace-record: twice.dat: *; next: mtrace-query twice.dat
#|mtrace-record: './cut' is recorded in part: its live log was truncated*
#|mtrace-record: cut.dat: *; next: mtrace-query cut.dat
