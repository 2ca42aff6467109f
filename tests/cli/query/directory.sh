. "$CASES/../fixture.sh"
mkdir d; mtrace-query leaks d
# expect status 1
# expect stderr
#|mtrace-query: 'd' is a directory; name a database that mtrace-import made
