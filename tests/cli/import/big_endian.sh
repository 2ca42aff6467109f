# A log as a big-endian machine writes it: every number the other way round, and byte 19 says so.
# Whoever reads logs refuses it in one line, and takes it for none that is newer, damaged or empty.
. "$CASES/../lib.sh"
make_log
python3 - <<'END'
import struct
from pathlib import Path

log = Path("run.dat").read_bytes()
log = log[:len(log) // 8 * 8]
assert log[:8] == b"mtrace\r\n" and log[19] == 1
numbers = f"IIHBBIII{(len(log) - 32) // 8}Q"
values = list(struct.unpack(f"<{numbers}", log[8:]))
values[4] = 2
Path("big.dat").write_bytes(log[:8] + struct.pack(f">{numbers}", *values))
END
complain mtrace-import big.dat out.db
complain mtrace-query big.dat summary
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 3
#|big.dat
#|run.dat
# expect stderr
#|mtrace-import: 'big.dat' was recorded on a big-endian machine, and this one is not; import it on such a machine
#|importing big.dat to big.db
#|mtrace-import: 'big.dat' was recorded on a big-endian machine, and this one is not; import it on such a machine
#|mtrace-query: 'big.dat' was not imported
