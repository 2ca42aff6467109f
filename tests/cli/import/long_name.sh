# A database path that is too long for SQLite is refused with a message, and no file is left.
. "$CASES/../lib.sh"
make_log
here=$(pwd -P)
part=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
long=$here
while [ ${#long} -lt 500 ]; do long=$long/$part; done
mkdir -p "$long"
mtrace-import run.dat -o "$long/run.db" 2>err || echo "$?"
sed "s,than '.*/,than '…/,; s/than [0-9]* bytes/than N bytes/" err
ls "$long"
cp run.dat "$long/run.db"
mtrace-query summary "$long/run.db" 2>err || echo "$?"
sed "s,than '.*/,than '…/," err
# expect stdout
#|1
#|mtrace-import: SQLite cannot open a path of more than N bytes; use a shorter one than '…/run.db'
#|1
#|mtrace-query: SQLite cannot open a path of more than 504 bytes; use a shorter one than '…/run.db'
