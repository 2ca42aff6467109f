# A bounded log cannot be followed, as its events go: said in one line, with what to do.
. "$CASES/../lib.sh"
mtrace-record -q --aggregate -o run.dat -- true
complain mtrace-serve --follow run.dat
ls
