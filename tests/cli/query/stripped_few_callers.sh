# A wrapper of malloc in a stripped program of which only two callers ran: the machine code shows the others. A function with few callers
# is blamed, and so is a long one with many.
. "$CASES/../lib.sh"
{
    printf '#include <stdlib.h>\n#include <string.h>\n#define F __attribute__((noinline, noclone)) void *\nvoid *volatile kept;\n'
    printf 'F wrapper(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }\n'
    printf 'F few(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }\n'
    printf 'F large(size_t n) { char *p = malloc(n); if (!p) abort(); __asm__(".skip 300, 0x90"); return p; }\n'
    for i in $(seq 20); do
        printf 'F caller_%s(void) { kept = wrapper(100 + %s); return kept = large(3000); }\n' $i $i
    done
    for i in 1 2 3; do
        printf 'F maker_%s(void) { return kept = few(2000); }\n' $i
    done
    printf 'int main(int argc, char **argv)\n{\n    for (int i = 0; i < 9; i++) {\n'
    for i in $(seq 20); do
        printf '        if (%s <= 2 * argc) caller_%s();\n' $i $i
    done
    printf '        maker_1(); maker_2(); maker_3();\n    }\n    return argv == 0;\n}\n'
} >program.c
gcc -O2 -fno-builtin -fno-optimize-sibling-calls -fno-reorder-functions -fno-toplevel-reorder -o program program.c
nm program | sed -n 's/^0*\([0-9a-f]*\) [tT] \(wrapper\|few\|large\|caller_.*\)$/s:+0x\1,:+\2,:/p' >names.sed
strip program
mtrace-record -q -o run.dat -- ./program
mtrace-query leaks run.dat --csv 2>import.txt >leaks.csv
mtrace-query sql run.db "SELECT function, leaked_blocks FROM leaks ORDER BY 2 DESC, 1" --csv | sed -f names.sed
# expect stdout
#|function,leaked_blocks
#|program+few,27
#|program+large,18
#|program+caller_1,9
#|program+caller_2,9
