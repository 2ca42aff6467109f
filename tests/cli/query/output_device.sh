# -o DEVICE writes to the device, with --force, too, and does not put a file in its place.
. "$CASES/../fixture.sh"
for words in leaks 'report --process 1' flamegraph 'export --to flamegraph.pl'; do
    # shellcheck disable=SC2086 # words
    set -- $words
    command=$1
    shift
    mtrace-query "$command" run.db "$@" -o /dev/null
    mtrace-query "$command" run.db "$@" --force -o /dev/null
    [ -c /dev/null ] || echo "$words: /dev/null is no device any more"
done
mtrace-query leaks run.db -o /dev/stdout | sed -n 1p
# Refused, as a log or a database cannot be written to a device.
mtrace-record --force -o /dev/null -- true || echo "status $?"
mtrace-import --force run.db /dev/null 2>/dev/null || echo "status $?"
[ -c /dev/null ] && echo "still a device"
# expect stdout
#|run.db  server (process 1, pid 812), 1m40s, killed by SIGKILL: "leaked" means live at that instant
#|status 125
#|status 1
#|still a device
# expect stderr
#|mtrace-record: '/dev/null' is not a regular file; choose another name
