# A wrapper that ends in exec: the last line says that what followed was not recorded, unless it was.
. "$CASES/../lib.sh"
complain mtrace-record -o run.dat -- sh -c 'exec true'
complain mtrace-record --follow-children -o followed.dat -- sh -c 'exec true'
