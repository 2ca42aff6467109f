. "$CASES/../fixture.sh"
mtrace-query sql run.db "ATTACH 'x' AS y"
