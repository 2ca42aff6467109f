# SPDX-License-Identifier: MIT
# Sourced by cases:  . "$CASES/../lib.sh"
# shellcheck shell=sh

# Runs a command, shows its status, and fails when it was killed or said more than one line.
complain() {
    status=0
    "$@" 2>stderr.txt || status=$?
    cat stderr.txt >&2
    echo "status $status, lines on stderr $(grep -c . stderr.txt)"
    rm -f stderr.txt
}

# Leaves run.dat, a recording of a small program.
make_log() {
    mtrace-record -o run.dat -- sh -c 'exit 0' 2>make_log.txt || { cat make_log.txt >&2; exit 1; }
    rm -f make_log.txt
}

make_database() {
    make_log
    mtrace-import run.dat run.db >make_database.txt 2>&1 || { cat make_database.txt >&2; exit 1; }
    rm -f make_database.txt
}
