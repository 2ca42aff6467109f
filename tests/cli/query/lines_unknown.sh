. "$CASES/../fixture.sh"
mtrace-query lines ession.c run.db
