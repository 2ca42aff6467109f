# Commands and files in either order, misspelt names, heads of tables as names of columns, names with blanks, help of one command.
. "$CASES/../lib.sh"
. "$CASES/../fixture.sh"
mv run.db "my run.db"
mtrace-query "my run.db" hot -n 1
mtrace-query leaks "my run.db" --process 2 | tail -n 1
mtrace-query hot "my run.db" --sort-by bytes --csv -n 2
mtrace-query hot "my run.db" --sort-by site --order asc --csv -n 2
mtrace-query hot "my run.db" --fail-if "bytes > 5000 and where = 'worker' and 'bytes' > 1" --csv || echo "status $?"
complain mtrace-query hto "my run.db"
complain mtrace-query help hto
complain mtrace-query describe lekas
complain mtrace-query export "my run.db" --to foo
mtrace-query describe by-module "my run.db" | sed -n 1,1p
mtrace-query help groups
mtrace-query tree --help
mtrace-query help | sed -n 1,1p
