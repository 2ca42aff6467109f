# The header that a recorder writes before its program has begun.
. "$CASES/../lib.sh"
mtrace-record -q -o run.dat -- /bin/true
head -c 4096 run.dat >begun.dat
printf '\0\0\0\0' | dd of=begun.dat bs=1 seek=28 conv=notrunc status=none
printf '\0\0\0\0\0\0\0\0' | dd of=begun.dat bs=1 seek=64 conv=notrunc status=none
complain mtrace-import begun.dat out.db
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-import: 'begun.dat' is empty: its program has not begun to record
