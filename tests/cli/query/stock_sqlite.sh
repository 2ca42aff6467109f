. "$CASES/../fixture.sh"
sqlite3 run.db "SELECT leaked_bytes, function FROM leaks LIMIT 3"
# expect stdout
#|700|Session::clone(int) const
#|4000|Cache::reserve
#|30|
