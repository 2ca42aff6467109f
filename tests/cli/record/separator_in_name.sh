# File names with a unit separator or a newline, which would break the collector's settings, are refused.
. "$CASES/../lib.sh"
separator=$(printf '\037')
line_break=$(printf '\n.')
line_break=${line_break%.}
mkdir "a${separator}b"
for odd in "$separator" "$line_break"; do
    complain mtrace-record -o "a${odd}b.dat" -- sh -c 'echo started'
    complain mtrace-record --log-file="a${odd}b.log" -o run.dat -- sh -c 'echo started'
done
home=$PWD
cd "a${separator}b" || exit 1
complain mtrace-record -o run.dat -- sh -c 'echo started'
complain mtrace-record -o "$home/good.dat" -- sh -c 'echo started' | sed 's/lines on stderr.*//'
cd "$home" || exit 1
rmdir "a${separator}b"
find . -type f
rm -f good.dat
# expect stdout
#|status 2, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 1
#|status 2, lines on stderr 2
#|status 2, lines on stderr 1
#|started
#|status 0, 
#|./good.dat
# expect stderr glob
#|mtrace-record: the name of the log is empty, too long, or has a line break or a unit separator (0x1f)
#|mtrace-record: --log-file: the name has a line break or a unit separator (0x1f)
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: the name of the log is empty, too long, or has a line break or a unit separator (0x1f)
#|mtrace-record: --log-file: the name has a line break or a unit separator (0x1f)
#|Try 'mtrace-record --help' or 'mtrace-record --usage' for more information.
#|mtrace-record: the working directory has a line break or a unit separator (0x1f) in its name; give a whole path with -o
#|mtrace-record: SCRATCH/good.dat: * events; next: mtrace-query SCRATCH/good.dat
