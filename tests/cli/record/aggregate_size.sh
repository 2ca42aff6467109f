# The size that is said of a bounded log is that of all its files.
. "$CASES/../lib.sh"
mtrace-record -o run.dat --aggregate -- sh -c 'exit 0' 2>closing.txt
ls
size=$(cat run.dat run.dat.* | wc -c | awk '{ printf "%.1f KiB", $1 / 1024 }')
grep -q "run.dat: $size," closing.txt && echo "all of it" || { echo "$size"; cat closing.txt; }
