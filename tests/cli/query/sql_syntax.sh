. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELEC 1"
