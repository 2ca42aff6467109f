mtrace-gather folder
# expect status 2
# expect stderr
#|mtrace-gather: nothing proves who speaks; give either --psk-file, or --certificate, --key and --ca, or, on one machine, --insecure
