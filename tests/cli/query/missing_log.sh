. "$CASES/../fixture.sh"
mtrace-query leaks missing.dat
# expect status 1
# expect stderr
#|mtrace-query: cannot open 'missing.dat': No such file or directory
