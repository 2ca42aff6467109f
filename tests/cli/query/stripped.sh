# A stripped program: its wrappers of malloc are recognized by their callers, so the function that keeps the blocks is blamed.
. "$CASES/../lib.sh"
{
    printf '#include <stdlib.h>\n#define F __attribute__((noinline, noclone)) void *\nvoid *volatile kept;\n'
    # The callers stand apart from the wrappers, as they do in another source file.
    printf 'F checked_malloc(size_t n) { void *p = malloc(n); if (!p) abort(); return p; }\n'
    printf 'F checked_zeroed(size_t n) { void *p = checked_malloc(n + 1); return *(char *)p = 0, p; }\n'
    printf 'F checked_calloc(size_t n) { void *p = calloc(n, 1); if (!p) abort(); return p; }\n'
    printf '__asm__(".skip 4096");\n'
    for i in 1 2 3 4 5 6 7 8 9; do
        printf 'F caller_%s(void) { kept = checked_malloc(100 + %s); return kept = checked_calloc(200 + %s); }\n' $i $i $i
    done
    printf 'F reader(void) { return kept = checked_zeroed(5000); }\nint main(void)\n{\n'
    for i in 1 2 3 4 5 6 7 8 9; do
        printf '    caller_%s();\n' $i
    done
    printf '    for (int i = 0; i < 50; i++)\n        reader();\n    return 0;\n}\n'
} >program.c
gcc -O2 -fno-optimize-sibling-calls -fno-reorder-functions -fno-toplevel-reorder -o program program.c
start=$(nm program | sed -n 's/^0*\([0-9a-f]*\) t reader$/\1/p;s/^0*\([0-9a-f]*\) T reader$/\1/p')
strip program
mtrace-record -q -o run.dat -- ./program
mtrace-query leaks run.dat --csv 2>import.txt >leaks.csv
mtrace-query sql run.db "SELECT function, leaked_blocks FROM leaks LIMIT 1" --csv | sed "s/+0x$start/+reader/"
mtrace-query sql run.db "SELECT count(*), max(leaked_blocks) FROM leaks WHERE leaked_bytes BETWEEN 300 AND 320" --csv
# expect stdout
#|function,leaked_blocks
#|program+reader,50
#|count(*),max(leaked_blocks)
#|9,2
