# A finished recording of the same name is renamed to run.dat.old with all its parts; other files and unfinished recordings are refused.
. "$CASES/../lib.sh"
cat >program.c <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) { free(malloc(777)); if (fork() == 0) { free(malloc(1777)); _exit(0); } wait(NULL); return 0; }
C
gcc -O0 -fno-builtin -w -o program program.c
names() { ls -d run.dat* | sed 's/dat\([.a-z]*\)\.[0-9]*\.\([0-9]\)$/dat\1.PID.\2/'; }
count() { rm -f x.db; mtrace-import "$1" x.db 2>import.txt; mtrace-query x.db sql --csv "SELECT count(*) FROM processes" | sed 1d; }
record() { { mtrace-record "$@" 2>&1 || echo "refused with $?"; } | sed 's/: [0-9.]* KiB.*//'; }
record --follow-children -o run.dat -- ./program
record -o run.dat -- ./program
names
count run.dat.old
echo "the older one is replaced, with its parts"
record -o run.dat -- ./program
names
echo "an older one of another kind stays"
rm -f run.dat.old
echo precious >run.dat.old
record -o run.dat -- ./program
cat run.dat.old
echo "so does what a killed recording left"
rm run.dat.old
cp run.dat run.dat.live
record -o run.dat -- ./program
rm run.dat.live
record -q -f -o run.dat -- ./program
names
# expect stdout
#|mtrace-record: run.dat and 1 log of child processes
#|mtrace-record: 'run.dat' exists: it is 'run.dat.old' now; --force would replace it
#|mtrace-record: run.dat
#|run.dat
#|run.dat.old
#|run.dat.old.PID.0
#|2
#|the older one is replaced, with its parts
#|mtrace-record: 'run.dat' exists: it is 'run.dat.old' now; --force would replace it
#|mtrace-record: run.dat
#|run.dat
#|run.dat.old
#|an older one of another kind stays
#|mtrace-record: 'SCRATCH/run.dat.old' exists and is not a log of mtrace; choose another name or remove it
#|refused with 125
#|precious
#|so does what a killed recording left
#|mtrace-record: 'SCRATCH/run.dat.live' is left over from a killed recording; merge it with 'mtrace-record --pack SCRATCH/run.dat', or use --force to delete it
#|refused with 125
#|run.dat
