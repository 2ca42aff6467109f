# One expression, and nothing beside it: suppressed leaks stay out whatever is written.
. "$CASES/../fixture.sh"
. "$CASES/../lib.sh"
for text in 'leaked_bytes > 0) OR (1' '1 OR 1) --' '1 --' '1 /*' '1 FROM leaks --' '1, 2' '*' '' '1;' '1 AS one' 'count(*) > 0'; do
    complain mtrace-query leaks run.db --fail-if "$text" --csv
done
mtrace-query leaks run.db --fail-if "suppressed_by IS NOT NULL"
complain mtrace-query leaks run.db --fail-if 'leaked_bytes > 0' --skip 100
mtrace-query leaks run.db --fail-if "(leaked_blocks, 1) > (6, 0) -- more than six" --csv || test $? = 3
