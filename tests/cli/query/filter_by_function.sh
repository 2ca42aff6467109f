. "$CASES/../fixture.sh"
make_fixture rows.db "$source/tests/sql/code.sql" "$CASES/../fixtures/rows.sql"
ids() { mtrace-query allocations rows.db --format csv "$@" | cut -d, -f1 | tail -n +2 | tr "\n" " "; echo "$*"; }
mtrace-query by-function rows.db --function-regex Session --format csv
# expect stdout
#|process_id,self_allocated_blocks,self_allocated_bytes,self_leaked_bytes,self_peak_bytes,self_temporary_blocks,inclusive_allocated_blocks,inclusive_allocated_bytes,inclusive_leaked_bytes,inclusive_peak_bytes,inclusive_temporary_blocks,function,function_id,self_allocated_blocks_margin,self_allocated_bytes_margin,self_leaked_bytes_margin,self_peak_bytes_margin,inclusive_allocated_blocks_margin,inclusive_allocated_bytes_margin,inclusive_leaked_bytes_margin,inclusive_peak_bytes_margin
#|1,4,500,400,400,2,4,500,400,400,2,Session::clone(int) const,3,,,,,,,,
#|1,0,0,0,0,0,4,500,400,400,2,_start,1,,,,,,,,
#|1,0,0,0,0,0,4,500,400,400,2,main,2,,,,,,,,
#|1,0,0,0,0,0,4,500,400,400,2,operator new(unsigned long),4,,,,,,,,
