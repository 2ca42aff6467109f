. "$CASES/../fixture.sh"
head -c 20000 run.db > cut.db; mtrace-query leaks cut.db
# expect status 1
# expect stderr
#|mtrace-query: 'cut.db' is damaged; import the recording again
