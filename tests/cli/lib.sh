# SPDX-License-Identifier: MIT
# Sourced by cases:  . "$CASES/../lib.sh"
# shellcheck shell=sh

# Runs a command and prints its status. Fails if it was killed or printed more than one line.
complain() {
    status=0
    "$@" 2>stderr.txt || status=$?
    cat stderr.txt >&2
    echo "status $status, lines on stderr $(grep -c . stderr.txt)"
    rm -f stderr.txt
}

# Creates run.dat, a recording of a small program.
make_log() {
    mtrace-record -o run.dat -- sh -c 'exit 0' 2>make_log.txt || { cat make_log.txt >&2; exit 1; }
    rm -f make_log.txt
}

make_database() {
    make_log
    mtrace-import run.dat run.db >make_database.txt 2>&1 || { cat make_database.txt >&2; exit 1; }
    rm -f make_database.txt
}

# Creates run.dat of --aggregate and its checkpoint. program.c waits for checkpoints (wait_for_state.h); small rotation sizes make them come
# soon. "$@" stands before the program.
record_with_states() {
    gcc -O0 -fno-builtin -w -I "$CASES/../../.." -o program program.c
    MTRACE_RING_BYTES=32768 mtrace-record -q --aggregate -o run.dat -- "$@" ./program
    [ -e run.dat.state ] || { echo "skipped: no state was taken"; exit 77; }
}
