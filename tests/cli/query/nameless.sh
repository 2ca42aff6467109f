# If most functions have no name, each report says once which module lacks symbols, and how to get them.
. "$CASES/../lib.sh"
printf '#include <stdlib.h>\nvoid *volatile kept;\n__attribute__((noinline)) void *keep(void) { return kept = malloc(100000); }\nint main(void) { for (int i = 0; i < 9; i++) keep(); return 0; }\n' >program.c
gcc -O1 -fno-builtin -o named program.c
gcc -O1 -fno-builtin -s -o stripped program.c
for program in named stripped; do
    mtrace-record -q -o $program.dat -- ./$program
    mtrace-import $program.dat $program.db >import.txt 2>&1
    for report in leaks peak hot growth tree "leaks --stacks" "leaks --csv"; do
        # shellcheck disable=SC2086
        echo "$program $report: $(mtrace-query $report $program.db 2>&1 | grep 'without names' | sed 's/[0-9.]* %/N %/')"
    done
done
# expect stdout
#|named leaks: 
#|named peak: 
#|named hot: 
#|named growth: 
#|named tree: 
#|named leaks --stacks: 
#|named leaks --csv: 
#|stripped leaks: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped peak: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped hot: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped growth: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped tree: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped leaks --stacks: mtrace-query: note: N % of the allocated bytes come from functions without names, most from 'SCRATCH/stripped': no debug info; rebuild it with -g, or name the folder of its debug file with --debug-dir; then 'mtrace-import --resymbolize'
#|stripped leaks --csv: 
