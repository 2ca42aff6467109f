. "$CASES/../fixture.sh"
mtrace-query peak run.db > /dev/full
# expect status 1
# expect stderr
#|mtrace-query: cannot write 'stdout': No space left on device
