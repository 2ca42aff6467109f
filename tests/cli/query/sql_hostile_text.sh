. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT char(27) || '[31m' AS escaped, char(8230) AS dots"
mtrace-query sql run.db "SELECT char(27, 34) AS escaped, x'00ff' AS blob, 1.5 AS real" --format json
# expect stdout
#|escaped  dots
#|?[31m    …
#|[
#| {"escaped":"\u001b\"","blob":"00FF","real":1.5}
#|]
