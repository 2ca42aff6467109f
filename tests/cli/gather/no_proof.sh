mtrace-gather folder
# expect status 2
# expect stderr
#|mtrace-gather: no authentication is configured; give either --psk-file, or --certificate, --key and --ca, or, on one machine, --insecure
