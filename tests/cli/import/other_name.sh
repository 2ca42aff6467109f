# If the program was started by a link in the folder of its file, its module has the name of the link.
. "$CASES/../lib.sh"
cat >program.c <<'C'
#include <stdlib.h>
int main(void) { return !malloc(777); }
C
gcc -O0 -fno-builtin -w -o checker program.c
ln -s checker server
mkdir folder
ln -s ../checker folder/outside
for name in server checker folder/outside; do
    mtrace-record -f -o run.dat -- "$PWD/$name" 2>record.txt
    mtrace-import -f run.dat run.db 2>import.txt
    sqlite3 run.db "SELECT replace(module, '$PWD/', '') FROM leaks WHERE leaked_bytes = 777"
done
# expect stdout
#|server
#|checker
#|checker
