# A compressed file of which not one line can be read is cut, not of a wrong kind; a whole one is.
. "$CASES/../lib.sh"
(echo one; echo two) | gzip > whole.gz
head -c 12 whole.gz > cut.gz
complain mtrace-import cut.gz
complain mtrace-import whole.gz
ls
