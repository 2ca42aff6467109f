. "$CASES/../fixture.sh"
for format in table csv json; do
    mtrace-query sql run.db "SELECT x'00ff' AS of_two, x'' AS of_none, zeroblob(4) AS of_four" --format $format
done
# expect stdout
#|of_two  of_none   of_four
#|  00FF           00000000
#|of_two,of_none,of_four
#|00FF,,00000000
#|[
#| {"of_two":"00FF","of_none":"","of_four":"00000000"}
#|]
