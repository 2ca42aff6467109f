# What would end a setting of the collector in its midst is refused: a unit separator, and a line break.
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
