mtrace-gather folder --insecure --listen 0.0.0.0:0
