# Import into a file system of 64 KiB fails with a message and leaves no file.
. "$CASES/../lib.sh"
mkdir small
mount -t tmpfs -o size=64k none small 2>/dev/null || { echo "skipped: mounting needs root"; exit 77; }
trap 'umount small' EXIT
make_log
complain mtrace-import run.dat small/out.db
ls small
# expect stdout
#|status 5, lines on stderr 1
# expect stderr
#|mtrace-import: not enough room in 'small': about 1 MiB needed, 0 MiB free; give a target on another disk, or use --slim
