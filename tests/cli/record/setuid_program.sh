# The loader ignores LD_PRELOAD in a setuid program: it runs, and the last line says why no event was recorded.
. "$CASES/../lib.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: making a program of another account needs root"; exit 77; }
as_unprivileged() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
chmod 777 .
as_unprivileged sh -c 'mtrace-record --version' >version.txt 2>&1 || { echo "skipped: no unprivileged account may run the build"; exit 77; }
cp "$(command -v id)" program
chmod 4755 program
[ "$(as_unprivileged ./program -u)" = 0 ] || { echo "skipped: this file system honours no set-user-ID bit"; exit 77; }
complain setpriv --reuid=65534 --regid=65534 --clear-groups mtrace-record -o run.dat -- ./program -u
[ -e run.dat ] || echo "no log is left"
# expect stdout
#|0
#|status 0, lines on stderr 2
#|no log is left
# expect stderr
#|mtrace-record: warning: nothing will be recorded of './program': it is set-uid or set-gid, and such programs load no preloaded library; run it under the account it changes to
#|mtrace-record: nothing was recorded of './program': it is set-uid or set-gid, and such programs load no preloaded library; run it under the account it changes to
