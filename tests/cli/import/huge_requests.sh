# Requests of more than half of the address space, and a calloc that overflows, have large sizes, not negative ones.
. "$CASES/../lib.sh"
mtrace-record -q -o run.dat -- python3 -c 'import ctypes
libc = ctypes.CDLL(None)
for call in (libc.calloc, libc.reallocarray):
    call.restype = ctypes.c_void_p
half = 2 ** 63
print(libc.calloc(ctypes.c_size_t(half), ctypes.c_size_t(8)))
print(libc.malloc(ctypes.c_size_t(half + 1)))
print(libc.reallocarray(None, ctypes.c_size_t(half), ctypes.c_size_t(2)))'
mtrace-import --no-symbols run.dat run.db 2>messages.txt
sqlite3 run.db 'SELECT name, size_bytes, errno FROM allocation_failures JOIN kinds USING (kind) ORDER BY failure_id'
mtrace-query allocation-failures run.db | grep -c "EiB"
mtrace-query allocation-failures run.db | grep -- "-[0-9.]* [KMGTPE]*i*B" || true
# expect stdout
#|None
#|0
#|None
#|calloc|9223372036854775807|12
#|malloc|9223372036854775807|12
#|reallocarray|9223372036854775807|12
#|3
