# bytehound's recordings have no magic: they are known by their frames.
. "$CASES/../lib.sh"
perl -e 'for $kind (1, 2, 1) { print chr($kind), pack("V", 300), chr(7) x 300 }' >bytehound.dat
head -c 700 bytehound.dat >cut.dat
perl -e 'print chr(1), pack("V", 300), chr(7) x 200' >stump.dat
for file in bytehound.dat cut.dat stump.dat; do
    complain mtrace-import $file out.db
done
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|bytehound.dat
#|cut.dat
#|stump.dat
# expect stderr
#|mtrace-import: 'bytehound.dat' is a bytehound recording, which cannot be imported; record the program with mtrace-record
#|mtrace-import: 'cut.dat' is a bytehound recording, which cannot be imported; record the program with mtrace-record
#|mtrace-import: 'stump.dat' is not a log of mtrace at byte 0
