echo "me:00" >keys
chmod 644 keys
mtrace-gather folder --psk-file keys || true
chmod 600 keys
mtrace-gather folder --psk-file keys || true
: >keys
mtrace-gather folder --psk-file keys || true
ln -s /dev/null link
mtrace-gather folder --psk-file link
