# The filter that leaks proposes selects the first row's function, and not all of its namespace.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE functions SET name = 'cache::Map<int, std::less<int>>::operator()(int) const' WHERE function_id = 3"
hint=$(mtrace-query leaks run.db --process 1 | sed -n 's/.*filter: //p')
echo "$hint"
eval "mtrace-query leaks run.db --process 1 --csv $hint" | cut -d, -f2,5
# expect stdout
#|--function-regex 'operator\(\)'
#|leaked_bytes,function
#|700,"cache::Map<int
