# A static program cannot be recorded: it runs, and the last line says why no event was recorded.
. "$CASES/../lib.sh"
printf '#include <stdlib.h>\nint main(void) { return malloc(1) ? 5 : 6; }\n' >program.c
gcc -static -o program program.c 2>/dev/null || { echo "skipped: no static C library"; exit 77; }
complain mtrace-record -o run.dat -- ./program
# expect stdout
#|status 5, lines on stderr 2
# expect stderr
#|mtrace-record: warning: nothing will be recorded of './program': it is statically linked, so no library can be preloaded; link it dynamically
#|mtrace-record: nothing was recorded of './program': it is statically linked, so no library can be preloaded; link it dynamically
