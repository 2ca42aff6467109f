# What somebody removed from a log of --aggregate, or did to it, is told in one line and counted, and the rest is imported.
. "$CASES/../lib.sh"
cat >program.c <<'END'
#include "tests/cli/wait_for_state.h"

int main(void)
{
    wait_for_state();
    allocate(100000);
    return 0;
}
END
record_with_states
ls run.dat.g* | sort -V >generations
[ "$(wc -l <generations)" -gt 6 ] || { echo "skipped: rings of this build are large"; exit 77; }
last=$(tail -n 1 generations)
middle=$(tail -n 4 generations | head -n 1)
mtrace-import --no-symbols run.dat run.db 2>/dev/null
all=$(mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) FROM backtrace_totals" | tail -n 1)
look() {
    echo "== $1"
    mtrace-import -f --no-symbols run.dat run.db 2>&1 | grep -v "^run.db" | sed "s/g[0-9][0-9]*'/gN'/g; s/byte [0-9]*/byte N/; s/: [0-9]* bytes/: N bytes/"
    mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) < $all AS has_less, sum(allocated_blocks) > 20000 AS has_some FROM backtrace_totals" 2>note | tail -n 1
    sed "s,.dat.g[0-9]*,.dat.gN,; s,byte [0-9]*,byte N,; s,[0-9.]* [KM]*i*B,N B,g" note
    rm -r ./run.dat*
    cp -p whole/* .
}
mkdir whole
cp -p run.dat* whole
rm "$middle"
look "a part is removed"
rm "$last"
look "the last part is removed"
rm $(tail -n 3 generations)
look "three parts are removed"
head -c 1000 /dev/zero >>"$middle"
look "zeros at the end of a part"
echo nonsense >>"$last"
look "bytes at the end of the last part"
printf 'nonsense' | dd of="$middle" conv=notrunc 2>/dev/null
look "no header"
: >"$middle"
look "an empty part"
printf '\377\377\377\377' | dd of="$middle" bs=1 seek=4300 conv=notrunc 2>/dev/null
look "other bytes in a frame"
mtrace-import -f --no-symbols run.dat run.db 2>&1 | grep -c warning || true
