mtrace-record --no-local true || true
mtrace-record --max-local 1GiB --to localhost:1 --insecure true || true
mtrace-record --no-local --max-local 1MiB --to localhost:1 --insecure true || true
mtrace-record --no-local --report --to localhost:1 --insecure true || true
mtrace-record --to discover --insecure true || true
mtrace-gather folder --announce --insecure --listen 127.0.0.1:0 || true
mtrace-gather --discover=0 --insecure || true
mtrace-gather --discover --insecure
