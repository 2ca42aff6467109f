# A compressed file of which not one line can be read is cut, not of a wrong kind; a whole one is.
. "$CASES/../lib.sh"
(echo one; echo two) | gzip > whole.gz
head -c 12 whole.gz > cut.gz
complain mtrace-import cut.gz
complain mtrace-import whole.gz
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|cut.gz
#|whole.gz
# expect stderr
#|mtrace-import: 'cut.gz' is compressed, and cut or damaged before the end of its first line; copy or record it again
#|mtrace-import: 'whole.gz' is a compressed file, not a log; decompress it first
