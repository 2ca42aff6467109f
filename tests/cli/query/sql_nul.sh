. "$CASES/../fixture.sh"
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, char(0) AS nul, '' AS empty" --format json
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, char(0, 44) AS quoted, '' AS empty" --format csv | tr '\000' '!'
mtrace-query sql run.db "SELECT 'a' || char(0) || 'b' AS text, 'f' || char(0) || 'g' AS function"
# expect stdout
#|[
#| {"text":"a\u0000b","nul":"\u0000","empty":""}
#|]
#|text,quoted,empty
#|a!b,"!,",
#|text  function
#|a?b   f?g
