# Bytes 8 to 11 of a log are its version.
. "$CASES/../lib.sh"
make_log
printf '\143\000\000\000' | dd of=run.dat bs=1 seek=8 conv=notrunc status=none
complain mtrace-import run.dat out.db
ls
