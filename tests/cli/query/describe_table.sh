. "$CASES/../fixture.sh"
mtrace-query describe heap_states
