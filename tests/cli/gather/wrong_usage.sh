mtrace-gather folder --listen nowhere --insecure || true
mtrace-gather folder --listen 127.0.0.1:0 --insecure --psk-file keys || true
mtrace-gather folder --certificate c.pem || true
mtrace-gather folder --max-connections 0 || true
mtrace-gather folder --max-bytes many || true
mtrace-gather folder other
