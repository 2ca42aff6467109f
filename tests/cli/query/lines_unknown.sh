. "$CASES/../fixture.sh"
mtrace-query lines ession.c run.db
# expect status 1
# expect stderr
#|mtrace-query: no source file is called 'ession.c'; give its name or the end of its path
