echo "me:00" >keys
chmod 644 keys
mtrace-gather folder --psk-file keys || true
chmod 600 keys
mtrace-gather folder --psk-file keys || true
: >keys
mtrace-gather folder --psk-file keys || true
ln -s /dev/null link
mtrace-gather folder --psk-file link
# expect status 2
# expect stderr
#|mtrace-gather: 'keys' holds a secret that others may read or change; chmod 600 'keys'
#|mtrace-gather: line 1 of 'keys' is not 'name:key' with 16 to 64 bytes in hexadecimal digits; psktool makes such files
#|mtrace-gather: 'keys' has no key; psktool makes such files
#|mtrace-gather: 'link' is not a file
