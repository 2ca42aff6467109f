. "$CASES/../fixture.sh"
mtrace-serve --listen example.com run.db
# expect status 2
# expect stderr
#|mtrace-serve: 'example.com' is no numeric address; 0.0.0.0 is all of this machine's
