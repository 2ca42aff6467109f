# Roots of a heap image have the demangled names of variables, of C++ and of both schemes of Rust.
cat >program.c <<'EOC'
#include <stdlib.h>

static void *volatile cxx __asm__("_ZL5cache");
static void *volatile nested[2] __asm__("_ZN3app5tableE");
static void *volatile rust __asm__("_ZN4prog5CACHE17h0123456789abcdefE");
static void *volatile rust_v0 __asm__("_RNvCs1234_4prog5TABLE");
static void *volatile plain;

int main(void)
{
    cxx = malloc(5001);
    nested[1] = malloc(4001);
    rust = malloc(3001);
    rust_v0 = malloc(2001);
    plain = malloc(1001);
    return 0;
}
EOC
gcc -fno-builtin -g -o program program.c
mtrace-record -q --heap-image=exit -o run.dat -- ./program
mtrace-query held run.dat --csv 2>import.txt | cut -d, -f 2,5,6
mtrace-query why run.db --csv "$(mtrace-query allocations run.db --size-min 4001 --size-max 4001 --csv | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["address"])')" | sed -n 1,2p | cut -d, -f 2-5
# expect stdout
#|bytes,symbol,offset_bytes
#|5001,cache,0
#|4001,app::table,8
#|3001,prog::CACHE,0
#|2001,prog::TABLE,0
#|1001,plain,0
#|state,address,size_bytes,function
#|global,,,app::table+0x8
