# The allocator has an operator new of its own. A program linked with it is recorded with the library that sees the
# operators; with the other one they are missing, and that is said.
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
