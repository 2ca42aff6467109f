# A daemon has no log yet when its parent exits: --wait still waits for it, and its log is packed.
. "$CASES/../lib.sh"
printf '#define _DEFAULT_SOURCE\n#include <stdlib.h>\n#include <unistd.h>\nint main(void) { if (daemon(1, 0)) return 1; usleep(300000); return malloc(100) ? 0 : 2; }\n' >program.c
gcc -fno-builtin -o program program.c
mtrace-record -q -o run.dat --follow-children --wait -- ./program
ls run.dat* | sed 's/\.[0-9][0-9]*\./.PID./'
# expect stdout
#|run.dat
#|run.dat.PID.0
