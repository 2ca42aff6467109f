# The time limit holds within one function, too, in which SQLite does not look for it.
. "$CASES/../fixture.sh"
mtrace-query sql --time-limit=100ms run.db "SELECT $(for i in $(seq 60); do printf "length(trim(replace(hex(zeroblob(20000)), '0', 'a'), replace(hex(zeroblob(8000)), '0', 'b') || 'a')) + "; done)0"
# expect status 1
# expect stderr
#|mtrace-query: this took longer than the time limit allows; narrow the question
