. "$CASES/../fixture.sh"
mkdir d; mtrace-query leaks d
