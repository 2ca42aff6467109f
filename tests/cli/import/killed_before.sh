# A killed import left its temporary file and filled the disk: the next import of the same target removes it.
. "$CASES/../lib.sh"
mkdir small
mount -t tmpfs -o size=4m none small 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
trap 'umount small' EXIT
make_log
boot=$(cut -c1-8 /proc/sys/kernel/random/boot_id)
space=$(stat -L -c %i /proc/self/ns/pid)
gone=$(sh -c 'echo $$')
left=small/run.db.part-$gone-$(printf %08x $((0x$boot ^ space)))-0
head -c 8m /dev/zero >"$left" 2>/dev/null || true
mtrace-import run.dat small/run.db 2>messages.txt || cat messages.txt
ls small
# expect stdout
#|run.db
