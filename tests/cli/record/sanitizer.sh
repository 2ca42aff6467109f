# AddressSanitizer refuses preloaded libraries: the recorder switches that check off, errors are found as before, and the program sees its
# user's options.
. "$CASES/../lib.sh"
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) { (void)argv; const char *set = getenv("ASAN_OPTIONS"); puts(set ? set : "no options"); fflush(stdout); char *p = malloc(777); free(p); return argc > 1 ? *p : 0; }\n' >program.c
gcc -g -w -fsanitize=address -o program program.c 2>compile.txt && ./program >compile.txt 2>&1 || { echo "skipped: no AddressSanitizer"; exit 77; }
ldd program | grep -q libasan || { echo "skipped: its runtime is no library"; exit 77; }
unset ASAN_OPTIONS
run() { status=0; mtrace-record --force -o run.dat -- ./program "$@" 2>errors.txt || status=$?; echo "status $status"; }
run
cat errors.txt >&2
ASAN_OPTIONS=exitcode=33 run use-after-free
grep -o 'ERROR: AddressSanitizer: heap-use-after-free' errors.txt
ASAN_OPTIONS=exitcode=33:verify_asan_link_order=1 run
grep -c 'runtime does not come first' errors.txt
grep '^mtrace-record' errors.txt >&2
# expect stdout
#|no options
#|status 0
#|exitcode=33
#|status 33
#|ERROR: AddressSanitizer: heap-use-after-free
#|status 33
#|1
# expect stderr glob
#|mtrace-record: run.dat: *, * events; next: mtrace-query run.dat
#|mtrace-record: nothing was recorded of './program': AddressSanitizer ends a program when any library comes before its own; leave verify_asan_link_order out of ASAN_OPTIONS
