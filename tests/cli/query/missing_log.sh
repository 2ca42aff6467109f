. "$CASES/../fixture.sh"
mtrace-query leaks missing.dat
