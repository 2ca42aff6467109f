# A program's name with arbitrary bytes is cleaned in messages, in the name of the log, in the import and in the headline.
. "$CASES/../lib.sh"
name=$(printf 'x\033]0;PWNED\007\nFAKE LINE\342\200\256\233')
printf 'int main(void) { return !__builtin_malloc(9); }\n' >program.c
gcc -w -o "$name" program.c
{
    mtrace-record -- "./$name" || echo "status $?"
    mtrace-record -- "./$name.absent" || echo "status $?"
    mtrace-record --attach "$name" || echo "status $?"
    for log in mtrace_*.dat; do
        mtrace-import "$log" run.db
    done
    mtrace-query run.db
    mtrace-query tree run.db
} >messages.txt 2>&1
grep -c PWNED messages.txt
grep '^FAKE' messages.txt || echo "no line begins with the second line of the name"
LC_ALL=C tr -d '\n\t -~' <messages.txt | od -An -c
ls mtrace_*.dat | sed 's/_[0-9]*_[0-9]*\.dat$/_TIME_PID.dat/'
# expect stdout
#|9
#|no line begins with the second line of the name
#|mtrace_x?]0;PWNED??FAKE LINE????_TIME_PID.dat
