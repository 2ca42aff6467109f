. "$CASES/../fixture.sh"
for format in table csv json; do
    mtrace-query sql run.db "SELECT x'00ff' AS of_two, x'' AS of_none, zeroblob(4) AS of_four" --format $format
done
