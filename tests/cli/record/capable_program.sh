# A program with file capabilities is not recorded, as the loader ignores LD_PRELOAD; the last line says so.
. "$CASES/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: giving a program capabilities needs root"; exit 77; }
as_unprivileged() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 777 .
as_unprivileged sh -c 'mtrace-record --version' >version.txt 2>&1 || { echo "skipped: no unprivileged account may run the build"; exit 77; }
cp "$(command -v cat)" program
# Version 2, effective, CAP_NET_RAW.
python3 -c 'import os; os.setxattr("program", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000"))' 2>setxattr.txt ||
    { echo "skipped: no file capabilities here"; exit 77; }
as_unprivileged ./program /proc/self/status | grep -q 'CapEff.*2000' || { echo "skipped: capabilities are not honoured here"; exit 77; }
complain setpriv --reuid=65534 --regid=65534 --clear-groups mtrace-record -o run.dat -- ./program version.txt >/dev/null
[ -e run.dat ] || echo "no log is left"
# expect stdout
#|no log is left
# expect stderr
#|mtrace-record: warning: nothing will be recorded of './program': it has file capabilities, and such programs load no preloaded library; run a copy of it, which has none
#|mtrace-record: nothing was recorded of './program': it has file capabilities, and such programs load no preloaded library; run a copy of it, which has none
