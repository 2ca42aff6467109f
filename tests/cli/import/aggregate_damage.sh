# If parts of an --aggregate log were removed or damaged, the import reports and counts the loss and imports the rest.
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
    mtrace-import -f --no-symbols run.dat run.db 2>&1 | grep -v -e "^run.db" -e "frees* w.* missed" | sed "s/g[0-9][0-9]*'/gN'/g; s/byte [0-9]*/byte N/; s/: [0-9]* bytes/: N bytes/"
    mtrace-query --format csv run.db sql "SELECT sum(allocated_blocks) < $all AS has_less, sum(allocated_blocks) > 20000 AS has_some FROM backtrace_totals" 2>note | tail -n 1
    sed -i "/frees* w.* missed/d" note  # a lost part can have the free of an address that is allocated again later
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
# expect stdout
#|== a part is removed
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing; events that only it had are lost
#|1,1
#|mtrace-query: note: log damaged: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing; events that only it had are lost; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== the last part is removed
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing; events that only it had are lost
#|1,1
#|mtrace-query: note: log damaged: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing; events that only it had are lost; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== three parts are removed
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing (and 2 more); events that only they had are lost
#|1,1
#|mtrace-query: note: log damaged: 'run.dat.gN' at byte N: this rotated log (--aggregate) is missing (and 2 more); events that only they had are lost; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== zeros at the end of a part
#|mtrace-import: warning: 'run.dat.gN' at byte N: frame header does not match its checksum
#|mtrace-import: warning: N bytes of the log could not be read; everything else was imported
#|0,1
#|mtrace-query: note: log damaged: N B of N B cannot be read; first 'run.dat.gN' at byte N: frame header does not match its checksum; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== bytes at the end of the last part
#|mtrace-import: warning: 'run.dat.gN' at byte N: file ends inside a frame
#|mtrace-import: warning: N bytes of the log could not be read; everything else was imported
#|0,1
#|mtrace-query: note: log damaged: N B of N B cannot be read; how much is missing after that is unknown; first 'run.dat.gN' at byte N: file ends inside a frame; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== no header
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) has no header of this recording; events that only it had are lost
#|1,1
#|mtrace-query: note: log damaged: 'run.dat.gN' at byte N: this rotated log (--aggregate) has no header of this recording; events that only it had are lost; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== an empty part
#|mtrace-import: warning: 'run.dat.gN' at byte N: this rotated log (--aggregate) has no header of this recording; events that only it had are lost
#|1,1
#|mtrace-query: note: log damaged: 'run.dat.gN' at byte N: this rotated log (--aggregate) has no header of this recording; events that only it had are lost; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|== other bytes in a frame
#|mtrace-import: warning: 'run.dat.gN' at byte N: segment of events cannot be read
#|mtrace-import: warning: N bytes of the log could not be read; everything else was imported
#|1,1
#|mtrace-query: note: log damaged: N B of N B cannot be read; first 'run.dat.gN' at byte N: segment of events cannot be read; totals are lower bounds, leaks may be too many: import a whole copy, or record again
#|0
