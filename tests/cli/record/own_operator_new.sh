# The allocator's library has an operator new of its own: what it makes is not seen, and that is said.
. "$CASES/../lib.sh"
printf 'int main() { return *new int(0); }\n' >program.cc
for library in /usr/lib/*/libjemalloc.so.2; do
    [ -e "$library" ] || { echo "skipped: no libjemalloc.so.2"; exit 77; }
done
g++ -o program program.cc -Wl,--no-as-needed "$library" || { echo "skipped: no C++ compiler"; exit 77; }
complain mtrace-record -o run.dat -- ./program
printf 'int main(void) { return 0; }\n' >plain.c
gcc -o plain plain.c -Wl,--no-as-needed "$library"
complain mtrace-record -o plain.dat -- ./plain
