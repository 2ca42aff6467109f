# SPDX-License-Identifier: MIT
# Sourced by cases:  . "$CASES/../fixture.sh"  makes run.db of tests/sql's fixtures: stacks and totals counted by hand.
# shellcheck shell=sh

source=$CASES/../../..

# make_fixture DATABASE FACTS.sql…: the schema, the facts, the views. No event was dropped, or each answer would say so (dropped.sh).
make_fixture() {
    made=$1
    shift
    kept=$MADE/$(echo "$*" | cksum | tr ' ' -).db # for further cases of the same file
    if [ -e "$kept" ]; then
        cp "$kept" "$made"
        return
    fi
    {
        echo 'PRAGMA synchronous = OFF; BEGIN;'
        cat "$source"/importer/schema/*.sql "$@"
        echo 'UPDATE processes SET events_dropped = 0; COMMIT;'
    } | sqlite3 -bail "$made" >/dev/null
    "$source/tests/sql/load_views" sqlite3 "$source" "$made"
    sqlite3 -bail "$made" <"$source/tests/sql/made_tables.sql"
    cp "$made" "$kept"
}

make_fixture run.db "$source/tests/sql/code.sql" "$source/tests/sql/totals.sql"
