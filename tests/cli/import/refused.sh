# SPDX-License-Identifier: MIT
# shellcheck shell=bash
. "$CASES/../lib.sh"
# case refused
# Arguments and files that mtrace-import refuses.
echo '== no arguments'
complain mtrace-import
echo '== unknown option'
complain mtrace-import --no-such-option run.dat
echo '== database instead of log'
sqlite3 other.db 'CREATE TABLE t(a)'
complain mtrace-import other.db out.db
ls
echo '== directory'
mkdir folder
complain mtrace-import folder out.db
ls
echo '== empty file'
: >empty.dat
complain mtrace-import empty.dat out.db
ls
echo '== no such file'
# A log that does not exist.
complain mtrace-import none.dat out.db
ls
echo '== text file'
echo "this is no log" >text.dat
complain mtrace-import text.dat out.db
ls
echo '== target in no folder'
make_log
complain mtrace-import run.dat nowhere/out.db
ls
# expect stdout
#|== no arguments
#|status 2, lines on stderr 2
#|== unknown option
#|status 2, lines on stderr 2
#|== database instead of log
#|status 1, lines on stderr 1
#|other.db
#|== directory
#|status 1, lines on stderr 1
#|folder
#|other.db
#|== empty file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|== no such file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|== text file
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|text.dat
#|== target in no folder
#|status 1, lines on stderr 1
#|empty.dat
#|folder
#|other.db
#|run.dat
#|text.dat
# expect stderr
#|mtrace-import: no log was named
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
#|mtrace-import: unrecognized option '--no-such-option'
#|Try 'mtrace-import --help' or 'mtrace-import --usage' for more information.
#|mtrace-import: 'other.db' is a database, not a log; open it with mtrace-query
#|mtrace-import: 'folder' is a directory; name the log inside it
#|mtrace-import: 'empty.dat' is empty
#|mtrace-import: cannot open 'none.dat': No such file or directory
#|mtrace-import: 'text.dat' is text, not a log
#|mtrace-import: cannot write 'nowhere/out.db': No such file or directory
# case bytehound_recording
# bytehound's recordings have no magic number; their frames identify them.
perl -e 'for $kind (1, 2, 1) { print chr($kind), pack("V", 300), chr(7) x 300 }' >bytehound.dat
head -c 700 bytehound.dat >cut.dat
perl -e 'print chr(1), pack("V", 300), chr(7) x 200' >stump.dat
for file in bytehound.dat cut.dat stump.dat; do
    complain mtrace-import $file out.db
done
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|bytehound.dat
#|cut.dat
#|stump.dat
# expect stderr
#|mtrace-import: 'bytehound.dat' is a bytehound recording, which cannot be imported; record the program with mtrace-record
#|mtrace-import: 'cut.dat' is a bytehound recording, which cannot be imported; record the program with mtrace-record
#|mtrace-import: 'stump.dat' is not a log of mtrace at byte 0
# case cut_compressed
# A compressed file without one readable line counts as cut off, not as an unknown format.
(echo one; echo two) | gzip > whole.gz
head -c 12 whole.gz > cut.gz
complain mtrace-import cut.gz
complain mtrace-import whole.gz
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|cut.gz
#|whole.gz
# expect stderr
#|mtrace-import: 'cut.gz' is compressed, and cut or damaged before the end of its first line; copy or record it again
#|mtrace-import: 'whole.gz' is a compressed file, not a log; decompress it first
# case fifo
# The FIFO has no writer: it is refused without waiting.
mkfifo pipe.dat
complain timeout 20 mtrace-import pipe.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|pipe.dat
# expect stderr
#|mtrace-import: 'pipe.dat' is not a regular file; copy the log into one
# case header_only
# Less than a header, but with the right magic.
printf 'mtrace\r\n\001\000\000\000' >short.dat
complain mtrace-import short.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|short.dat
# expect stderr
#|mtrace-import: 'short.dat' ends inside its header at byte 12
# case newer_version
# Bytes 8 to 11 of a log are its version.
make_log
printf '\143\000\000\000' | dd of=run.dat bs=1 seek=8 conv=notrunc status=none
complain mtrace-import run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|run.dat
# expect stderr
#|mtrace-import: 'run.dat' has log version 99, this mtrace reads up to 1; use a newer mtrace
# case no_such_marker
# A missing marker is an error, and the existing target stays unchanged.
make_log
complain mtrace-import --until-marker "not there" run.dat out.db
complain mtrace-import --until-marker "not there" --until 1h run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|run.dat
# expect stderr
#|mtrace-import: 'run.dat' has no marker 'not there'
#|mtrace-import: 'run.dat' has no marker 'not there' up to the time of --until
# case nothing_yet
# The header that a recorder writes before its program has begun.
mtrace-record -q -o run.dat -- /bin/true
head -c 4096 run.dat >begun.dat
printf '\0\0\0\0' | dd of=begun.dat bs=1 seek=28 conv=notrunc status=none
printf '\0\0\0\0\0\0\0\0' | dd of=begun.dat bs=1 seek=64 conv=notrunc status=none
complain mtrace-import begun.dat out.db
# expect stdout
#|status 1, lines on stderr 1
# expect stderr
#|mtrace-import: 'begun.dat' is empty: its program has not begun to record
# case target_is_directory
make_log
mkdir out.db
complain mtrace-import --force run.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|out.db
#|run.dat
# expect stderr
#|mtrace-import: 'out.db' is not a regular file; name another target
# case target_exists
# Without --force an existing target and other files beside it stay unchanged.
make_log
echo precious >out.db
complain mtrace-import run.dat out.db
complain mtrace-import --force run.dat out.db
cat out.db
rm out.db
sqlite3 out.db 'CREATE TABLE precious(a)'
complain mtrace-import --force run.dat out.db
sqlite3 out.db .tables
mtrace-import run.dat own.db 2>messages.txt
complain mtrace-import run.dat own.db
mtrace-import --force run.dat own.db >messages.txt 2>&1
sqlite3 own.db 'SELECT count(*) > 0 FROM processes'
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|precious
#|status 1, lines on stderr 1
#|precious
#|status 1, lines on stderr 1
#|1
# expect stderr
#|mtrace-import: 'out.db' exists; --force replaces it
#|mtrace-import: 'out.db' exists and is not a database of mtrace; name another target or remove it
#|mtrace-import: 'out.db' exists and is not a database of mtrace; name another target or remove it
#|mtrace-import: 'own.db' exists; --force replaces it
# case big_endian
# A log of a big-endian machine: all numbers are byte-swapped, and byte 19 says so. All readers refuse it in one line, and not as newer,
# damaged or empty.
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
