# What is said of a database is said once, of the second one, too; that samples do not tell is refused, whichever it is.
. "$CASES/../fixture.sh"
cp run.db sampled.db
sqlite3 sampled.db 'UPDATE processes SET sample_bytes = 1024'
for question in "run.db sampled.db" "sampled.db run.db"; do
    # shellcheck disable=SC2086
    mtrace-query diff $question 2>said >/dev/null || sed 's/^mtrace-query: //' said
    echo "$question: $(grep -c '^mtrace-query: note: estimates' said)"
done
mtrace-query diff run.db sampled.db --measure temporary || echo "$?"
mtrace-query diff sampled.db run.db --measure temporary || echo "$?"
# expect stdout
#|run.db sampled.db: 1
#|sampled.db run.db: 1
#|1
#|1
# expect stderr
#|mtrace-query: 'sampled.db' was recorded with --sample-bytes, and samples do not show how soon a block was freed, because the other allocations are not recorded; record without it
#|mtrace-query: 'sampled.db' was recorded with --sample-bytes, and samples do not show how soon a block was freed, because the other allocations are not recorded; record without it
