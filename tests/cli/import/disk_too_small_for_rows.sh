# Every event of a leaked block needs a row. If the disk is too small for all rows, the import fails early and leaves no file.
. "$CASES/../lib.sh"
mkdir small
mount -t tmpfs -o size=15m none small 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
trap 'umount small' EXIT
mtrace-record -q -o run.dat -- python3 -c 'import ctypes
malloc = ctypes.CDLL(None).malloc
for _ in range(300000): malloc(24)'
complain mtrace-import run.dat small/out.db
ls small
# expect stdout
#|status 5, lines on stderr 1
# expect stderr glob
#|mtrace-import: not enough room in 'small': about * MiB needed, * MiB free; give a target on another disk, or use --slim
