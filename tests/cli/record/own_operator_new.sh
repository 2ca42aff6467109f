# The allocator has its own operator new. With the collector for C++ operators these calls are recorded; with the plain one they are
# missing, with a message.
. "$CASES/../lib.sh"
for library in /usr/lib/*/libjemalloc.so.2; do
    [ -e "$library" ] || { echo "skipped: no libjemalloc.so.2"; exit 77; }
done
printf 'int main() { return *new int(0); }\n' >program.cc
g++ -o linked program.cc -Wl,--no-as-needed "$library" || { echo "skipped: no C++ compiler"; exit 77; }
complain mtrace-record -o linked.dat -- ./linked
MTRACE_LIBRARY=$(dirname "$(command -v mtrace-record)")/../lib/mtrace/libmtrace.so \
    complain mtrace-record -o without.dat -- ./linked
printf 'int main(void) { return 0; }\n' >plain.c
gcc -o plain plain.c -Wl,--no-as-needed "$library"
complain mtrace-record -o plain.dat -- ./plain
# The operators of libstdc++ call malloc and each other: each block is recorded once.
printf '#include <new>\nint main() { delete new (std::nothrow) int[7777]; delete[] new int[7777]; }\n' >nothrow.cc
g++ -fno-builtin -o nothrow nothrow.cc
MTRACE_LIBRARY=$(dirname "$(command -v mtrace-record)")/../lib/mtrace/libmtrace-new.so \
    complain mtrace-record -o nothrow.dat -- ./nothrow
mtrace-import nothrow.dat nothrow.db >import.txt 2>&1 || cat import.txt
mtrace-query nothrow.db sql 'SELECT count(*) AS blocks, sum(is_leaked) AS leaked FROM allocations WHERE size_bytes = 31108'
# expect stdout
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
#|status 0, lines on stderr 1
#|blocks  leaked
#|     2       0
# expect stderr glob
#|mtrace-record: linked.dat: *, * events; next: mtrace-query linked.dat
#|mtrace-record: without.dat: *, * events; blocks of operator new are missing: its allocator has one of its own; set MTRACE_LIBRARY to the path of libmtrace-new.so; next: mtrace-query without.dat
#|mtrace-record: plain.dat: *, * events; next: mtrace-query plain.dat
#|mtrace-record: nothrow.dat: *, * events; next: mtrace-query nothrow.dat
