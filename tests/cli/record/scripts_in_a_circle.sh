# Scripts that name each other as interpreters fail with the kernel's error; a script whose interpreter is another script is recorded.
. "$CASES/../lib.sh"
printf '#!%s/b\n' "$PWD" >a
printf '#!%s/a\n' "$PWD" >b
printf '#!/bin/sh\nexit 5\n' >inner
printf '#!%s/inner\n' "$PWD" >outer
chmod +x a b inner outer
complain mtrace-record -o run.dat -- ./a
complain mtrace-record -q -o outer.dat -- ./outer
test -s outer.dat && echo "recorded"
# expect stdout
#|status 126, lines on stderr 1
#|status 5, lines on stderr 0
#|recorded
# expect stderr
#|mtrace-record: cannot run './a': Too many levels of symbolic links
