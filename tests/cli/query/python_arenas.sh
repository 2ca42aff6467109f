# Arenas of CPython are no blocks: peak, leaks, growth and the findings say how their objects are recorded. Of another program they do not.
cat >program.c <<'EOC'
#include <stdlib.h>
#include <sys/mman.h>

static void *volatile g_last;

int main(int argc, char **argv)
{
    for (int i = 0; i < 8; i++)
        g_last = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    g_last = malloc((size_t)argc << 20);
    return argv == 0;
}
EOC
gcc -fno-builtin -o python3.11 program.c
strip python3.11
cp python3.11 other
for program in ./python3.11 ./other; do
    mtrace-record -q -f -o run.dat -- $program
    echo "== $program"
    for command in summary peak leaks growth hot; do
        mtrace-query $command run.dat 2>&1 | tr -s ' \n' ' ' | grep -o 'CPython mapped.*arenas\.\|CPython keeps.*overhead' | sed "s/^/$command: /" || true
    done
done
# Few arenas beside large blocks are no matter.
mtrace-record -q -f -o run.dat -- ./python3.11 $(seq 40)
mtrace-query peak run.dat 2>&1 | grep -c CPython || true
# expect stdout
#|== ./python3.11
#|summary: CPython mapped 8.0 MiB of arenas.
#|summary: CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead
#|peak: CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead
#|leaks: CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead
#|growth: CPython keeps objects of at most 512 bytes in arenas, which are mappings and not blocks: PYTHONMALLOC=malloc records each object, at a higher overhead
#|== ./other
#|0
