mtrace-gather folder --insecure --listen 0.0.0.0:0
# expect status 2
# expect stderr
#|mtrace-gather: --insecure is only for this machine, not for '0.0.0.0'
