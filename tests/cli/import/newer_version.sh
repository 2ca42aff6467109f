# Bytes 8 to 11 of a log are its version.
. "$CASES/../lib.sh"
make_log
printf '\143\000\000\000' | dd of=run.dat bs=1 seek=8 conv=notrunc status=none
complain mtrace-import run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|run.dat
# expect stderr
#|mtrace-import: 'run.dat' has log version 99, this mtrace reads up to 1; use a newer mtrace
