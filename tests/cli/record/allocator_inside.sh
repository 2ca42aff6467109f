# An allocator inside the executable is not recorded: recorder, importer and reports say so. They do not for programs without one.
. "$CASES/../lib.sh"
cat >program.c <<'EOF'
#include <stdlib.h>

static char arena[1 << 16];
static size_t used;

void *_rjem_malloc(size_t n_bytes)
{
    used += n_bytes;
    return arena + used - n_bytes;
}

int main(void)
{
    return !_rjem_malloc(777) || !malloc(4777);
}
EOF
gcc -O0 -fno-builtin -o program program.c
gcc -O0 -fno-builtin -D_rjem_malloc=take -o plain program.c
mkdir other && cp program other/

complain mtrace-record -o run.dat -- ./program
complain mtrace-import run.dat run.db
mtrace-query run.db | sed -n 's/^blocks of.*inside .*program. /… /p'
mtrace-query run.db leaks --format csv >leaks.csv
mtrace-query run.db sql 'SELECT count(*) AS recorded FROM allocations WHERE size_bytes IN (777, 4777)'

echo "one process after another"
complain mtrace-record --follow-children -o all.dat -- sh -c './program; ./program; exec other/program'
complain mtrace-import all.dat all.db
mtrace-query all.db sql "SELECT count(*) AS executables, max(value) AS allocator FROM meta WHERE key GLOB 'unseen.*'"
mtrace-query all.db leaks --format csv >leaks.csv
mtrace-query all.db leaks | sed -n 's|/[^ ]*/||g; s/^all.db *\([^,(]*\).*/\1/p; s/^blocks of/  &/p'

echo "packed afterwards"
mtrace-record --no-compress --pack run.dat -o again.dat 2>again.txt || cat again.txt
mtrace-import again.dat again.db 2>&1 | grep -c 'blocks of jemalloc'

echo "stripped"
echo 'const char *message(void) { return "<jemalloc>: Malformed conf string\n"; }' >message.c
gcc -O0 -fno-builtin -s -o stripped program.c message.c
complain mtrace-record -o stripped.dat -- ./stripped
complain mtrace-import stripped.dat stripped.db
mtrace-query stripped.db leaks --format csv >leaks.csv

echo "none"
complain mtrace-record -o plain.dat -- ./plain
complain mtrace-import plain.dat plain.db
complain mtrace-query plain.db leaks --format csv >leaks.csv
# expect stdout
#|status 0, lines on stderr 2
#|status 0, lines on stderr 2
#|… are not recorded (some of its functions are not there by name) and not included in any number
#|recorded
#|       1
#|one process after another
#|status 0, lines on stderr 2
#|status 0, lines on stderr 2
#|executables  allocator
#|          2  jemalloc
#|4 processes leaked 14.0 KiB in 3 blocks; the highest peak is 4.7 KiB in process 2
#|  blocks of jemalloc inside 'program', jemalloc inside 'program' are not recorded (some of its functions are not there by name) and not included in any number
#|program 
#|  blocks of jemalloc inside 'program' are not recorded (some of its functions are not there by name) and not included in any number
#|program 
#|  blocks of jemalloc inside 'program' are not recorded (some of its functions are not there by name) and not included in any number
#|program 
#|  blocks of jemalloc inside 'program' are not recorded (some of its functions are not there by name) and not included in any number
#|packed afterwards
#|1
#|stripped
#|status 0, lines on stderr 3
#|status 0, lines on stderr 2
#|none
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
# expect stderr glob
#|mtrace-record: blocks of jemalloc inside '*/program' are not recorded (some of its functions*): build it with the system's allocator (Rust: *
#|mtrace-record: run.dat: *; next: mtrace-query run.dat
#|mtrace-import: note: blocks of jemalloc inside '*/program' are not recorded (some of its functions*)
#|run.db: *
#|mtrace-query: note: blocks of jemalloc inside '*/program' are not recorded (some of its functions*) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/program' are not recorded (some of its functions*) and not included in any number
#|mtrace-record: blocks of jemalloc inside '*/program' are not recorded (some of its functions*): build it with the system's allocator (Rust: *
#|mtrace-record: all.dat and 3 logs of child processes: *; next: mtrace-query all.dat
#|mtrace-import: note: blocks of jemalloc inside '*/program' are not recorded (*), nor those of other processes *
#|all.db: *
#|mtrace-query: note: blocks of jemalloc inside '*/program', jemalloc inside '*/other/program' are not recorded (*) and not included in any number
#|mtrace-query: note: blocks of jemalloc inside '*/program', jemalloc inside '*/other/program' are not recorded (*) and not included in any number
#|mtrace-record: warning: blocks of jemalloc inside './stripped' will not be recorded (it is stripped: *)
#|mtrace-record: blocks of jemalloc inside '*/stripped' are not recorded (it is stripped: *): build it with the system's allocator (Rust: *
#|mtrace-record: stripped.dat: *; next: mtrace-query stripped.dat
#|mtrace-import: note: blocks of jemalloc inside '*/stripped' are not recorded (it is stripped: *)
#|stripped.db: *
#|mtrace-query: note: blocks of jemalloc inside '*/stripped' are not recorded (it is stripped: *) and not included in any number
#|mtrace-record: plain.dat: *; next: mtrace-query plain.dat
#|plain.db: *
