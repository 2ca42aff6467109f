# Functions of an embedded allocator are redirected if their first instructions can be moved; otherwise a message names the function and the
# reason.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include <stdlib.h>
#include <unistd.h>

#define EXPAND(...) #__VA_ARGS__
#define STRING(...) EXPAND(__VA_ARGS__)

static char arena[1 << 16];
static size_t used;

__attribute__((used)) void *take(size_t n_bytes)
{
    used += n_bytes;
    return arena + used - n_bytes;
}

/* Entries in assembly, so that they are what the test says, whatever the compiler. */
__asm__(".text\n"
        ".globl _rjem_malloc, _rjem_memalign, _rjem_free\n"
        ".type _rjem_malloc, @function\n.type _rjem_memalign, @function\n.type _rjem_free, @function\n"
        "_rjem_malloc: endbr64\n test %rdi, %rdi\n je 1f\n" STRING(MALLOC_MORE) " jmp take\n1: xor %eax, %eax\n ret\n"
        ".size _rjem_malloc, .-_rjem_malloc\n"
        "_rjem_memalign: mov %rsi, %rdi\n" STRING(MEMALIGN_MORE) " jmp take\n"
        ".size _rjem_memalign, .-_rjem_memalign\n"
        "_rjem_free: " STRING(FREE_MORE) " nop\n nop\n nop\n nop\n ret\n"
        ".size _rjem_free, .-_rjem_free\n" STRING(AFTER_FREE) "\n");

void *_rjem_malloc(size_t n_bytes);
void *_rjem_memalign(size_t alignment, size_t n_bytes);
void _rjem_free(void *block);

int main(int argc, char **argv)
{
    void *aligned = _rjem_memalign(64, 1777);

    if (argc > 1)
        execl("/proc/self/exe", argv[0], NULL);
    for (int i = 0; i < 10; i++)
        _rjem_free(_rjem_malloc(777));
    return !aligned || !_rjem_malloc(777) || _rjem_malloc(0) || !malloc(4777);
}
EOF
build() {
    gcc -O0 -fno-builtin "-DMALLOC_MORE=$2" "-DMEMALIGN_MORE=$3" "-DFREE_MORE=$4" "-DAFTER_FREE=${5:-}" ${6:-} -rdynamic -o "$1" program.c
}
show() {
    echo "$@"
    complain mtrace-record "$@"
    mtrace-import run.dat run.db >import.txt 2>&1 || cat import.txt
    sed -n "s|.*blocks of \(.*\) inside '.*/|\1 inside '|p" import.txt
    mtrace-query run.db sql 'SELECT size_bytes, alignment, count(*) AS blocks, sum(is_leaked) AS leaked FROM allocations
        WHERE size_bytes IN (777, 1777, 4777) GROUP BY 1, 2'
    mtrace-query run.db sql "SELECT key, value FROM meta WHERE key GLOB 'unseen*'" | sed 's|/.*/||'
    rm -f run.dat run.db
}
build whole '' '' 'lea arena(%rip), %rax;'
show -o run.dat -- ./whole
show --no-patch -o run.dat -- ./whole
build memalign '' 'call take; ret;' 'lea arena(%rip), %rax;'
show -o run.dat -- ./memalign
build back '' '' 'xor %eax, %eax; 2: dec %eax; jns 2b;'
show -o run.dat -- ./back
build short '' '' 'ret;'
show -o run.dat -- ./short
echo "stripped, with bytes that are a jump into _rjem_free or not"
build padded '' '' 'lea arena(%rip), %rax;' '.fill 38, 1, 0xcc; jmp *%rax; .fill 12, 1, 0xcc' -s
show -o run.dat -- ./padded
build jumps '' '' 'lea arena(%rip), %rax;' '.fill 39, 1, 0xcc; .byte 0xeb, 0xcc' -s
show -o run.dat -- ./jumps
echo "executed by another one"
show -o run.dat -- sh -c 'exec ./whole'
echo "executed by itself"
show -o run.dat -- ./whole again
echo "without the decoder, which nobody needs who has no allocator inside"
mkdir -p broken
soname=$(strings -a "$(command -v mtrace-record)" | grep -o '^libZydis\.so[.0-9]*' | head -1)
: >"broken/${soname:-libZydis.so.4.0}"
export LD_LIBRARY_PATH=$PWD/broken
show -o run.dat -- ./whole | sed 's/\.so[.0-9]*/.so/'
mtrace-record -o run.dat -- true 2>&1 | grep -c Zydis || true
# expect stdout
#|-o run.dat -- ./whole
#|status 0, lines on stderr 1
#|size_bytes  alignment  blocks  leaked
#|     777 B          -      11       1
#|   1.7 KiB         64       1       1
#|   4.7 KiB          -       1       1
#|key  value
#|--no-patch -o run.dat -- ./whole
#|status 0, lines on stderr 2
#|jemalloc inside 'whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                        value
#|unseen.whole      jemalloc
#|unseen_process.1                           1
#|unseen_why.whole  it is looked for only in the program on the command lin..
#|-o run.dat -- ./memalign
#|status 0, lines on stderr 2
#|jemalloc (in part) inside 'memalign' are not recorded (_rjem_memalign: a call is among its first instructions)
#|size_bytes  alignment  blocks  leaked
#|     777 B          -      11       1
#|   4.7 KiB          -       1       1
#|key                                           value
#|unseen.memalign      jemalloc (in part)
#|unseen_process.1                              1
#|unseen_why.memalign  _rjem_memalign: a call is among its first instructions
#|-o run.dat -- ./back
#|status 0, lines on stderr 3
#|jemalloc inside 'back' are not recorded (_rjem_free: it jumps back between its first instructions, or cannot be decoded)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                       value
#|unseen.back      jemalloc
#|unseen_process.1                          1
#|unseen_why.back  _rjem_free: it jumps back between its first instructions..
#|-o run.dat -- ./short
#|status 0, lines on stderr 3
#|jemalloc inside 'short' are not recorded (_rjem_free: it is too short or does what cannot be moved)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                        value
#|unseen.short      jemalloc
#|unseen_process.1                           1
#|unseen_why.short  _rjem_free: it is too short or does what cannot be moved
#|stripped, with bytes that are a jump into _rjem_free or not
#|-o run.dat -- ./padded
#|status 0, lines on stderr 1
#|size_bytes  alignment  blocks  leaked
#|     777 B          -      11       1
#|   1.7 KiB         64       1       1
#|   4.7 KiB          -       1       1
#|key  value
#|-o run.dat -- ./jumps
#|status 0, lines on stderr 3
#|jemalloc inside 'jumps' are not recorded (_rjem_free: a jump between its first instructions cannot be excluded)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                        value
#|unseen.jumps      jemalloc
#|unseen_process.1                           1
#|unseen_why.jumps  _rjem_free: a jump between its first instructions canno..
#|executed by another one
#|-o run.dat -- sh -c exec ./whole
#|status 0, lines on stderr 2
#|jemalloc inside 'whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                        value
#|unseen.whole      jemalloc
#|unseen_process.2                           1
#|unseen_why.whole  it is looked for only in the program on the command lin..
#|executed by itself
#|-o run.dat -- ./whole again
#|status 0, lines on stderr 1
#|size_bytes  alignment  blocks  leaked
#|     777 B          -      11       1
#|   1.7 KiB         64       2       1
#|   4.7 KiB          -       1       1
#|key  value
#|without the decoder, which nobody needs who has no allocator inside
#|-o run.dat -- ./whole
#|status 0, lines on stderr 3
#|jemalloc inside 'whole' are not recorded (_rjem_free: libZydis.so, which decodes instructions, cannot be loaded)
#|size_bytes  alignment  blocks  leaked
#|   4.7 KiB          -       1       1
#|key                                        value
#|unseen.whole      jemalloc
#|unseen_process.1                           1
#|unseen_why.whole  _rjem_free: libZydis.so, which decodes instructions..
#|0
# expect stderr glob
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-record: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch) and not included in any number
#|mtrace-record: blocks of jemalloc (in part) inside '*/memalign' are not recorded (_rjem_memalign: a call is among its first instructions): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc (in part) inside '*/memalign' are not recorded (_rjem_memalign: a call is among its first instructions) and not included in any number
#|mtrace-query: note: blocks of jemalloc (in part) inside '*/memalign' are not recorded (_rjem_memalign: a call is among its first instructions) and not included in any number
#|mtrace-record: warning: blocks of jemalloc inside './back' will not be recorded (_rjem_free: it jumps back*)
#|mtrace-record: blocks of jemalloc inside '*/back' are not recorded (_rjem_free: it jumps back between its first instructions, or cannot be decoded): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/back' are not recorded (_rjem_free: it jumps back between its first instructions, or cannot be decoded) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/back' are not recorded (_rjem_free: it jumps back between its first instructions, or cannot be decoded) and not included in any number
#|mtrace-record: warning: blocks of jemalloc inside './short' will not be recorded (_rjem_free: it is too short*)
#|mtrace-record: blocks of jemalloc inside '*/short' are not recorded (_rjem_free: it is too short or does what cannot be moved): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/short' are not recorded (_rjem_free: it is too short or does what cannot be moved) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/short' are not recorded (_rjem_free: it is too short or does what cannot be moved) and not included in any number
#|mtrace-record: run.dat: *; next: mtrace-query run.dat
#|mtrace-record: warning: blocks of jemalloc inside './jumps' will not be recorded (_rjem_free: a jump*)
#|mtrace-record: blocks of jemalloc inside '*/jumps' are not recorded (_rjem_free: a jump between its first instructions cannot be excluded): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: *; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/jumps' are not recorded (_rjem_free: a jump between its first instructions cannot be excluded) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/jumps' are not recorded (_rjem_free: a jump between its first instructions cannot be excluded) and not included in any number
#|mtrace-record: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat and 1 log of what it executed: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (it is looked for only in the program on the command line, and not with --no-patch) and not included in any number
#|mtrace-record: run.dat and 1 log of what it executed: * events; next: mtrace-query run.dat
#|mtrace-record: warning: blocks of jemalloc inside './whole' will not be recorded (_rjem_free: libZ*)
#|mtrace-record: blocks of jemalloc inside '*/whole' are not recorded (_rjem_free: libZydis.so*, which decodes instructions, cannot be loaded): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: * events; next: mtrace-query run.dat
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (_rjem_free: libZydis.so*, which decodes instructions, cannot be loaded) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/whole' are not recorded (_rjem_free: libZydis.so*, which decodes instructions, cannot be loaded) and not included in any number
