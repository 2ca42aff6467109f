# A program with a sanitizer's runtime inside runs unchanged, and one line says why no event was recorded.
. "$CASES/../lib.sh"
printf '#include <stdlib.h>\nint main(void) { free(malloc(777)); return 3; }\n' >program.c
gcc -fsanitize=address -static-libasan -o program program.c
complain mtrace-record -o run.dat -- ./program
# expect stdout
#|status 3, lines on stderr 2
# expect stderr glob
#|mtrace-record: warning: blocks of malloc inside './program' will not be recorded (it is AddressSanitizer's; *)
#|mtrace-record: nothing was recorded of './program': blocks of malloc inside '*/program' are not recorded (it is AddressSanitizer's; clang: -shared-libsan, gcc: without -static-libasan)
