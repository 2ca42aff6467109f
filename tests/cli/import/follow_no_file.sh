. "$CASES/../lib.sh"
# --follow refuses paths that cannot become a log, instead of waiting for them.
mkfifo pipe.dat
mkdir folder
ln -s b.dat a.dat
ln -s a.dat b.dat
for log in pipe.dat folder /dev/null a.dat; do
    complain timeout 20 mtrace-import --follow $log out.db
done
complain mtrace-import --follow gone.dat out.db
ls
# expect stdout
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 1
#|status 1, lines on stderr 2
#|a.dat
#|b.dat
#|folder
#|pipe.dat
# expect stderr
#|mtrace-import: 'pipe.dat' is not a regular file; copy the log into one
#|mtrace-import: 'folder' is a directory; name the log inside it
#|mtrace-import: '/dev/null' is not a regular file; copy the log into one
#|mtrace-import: cannot open 'a.dat': Too many levels of symbolic links
#|mtrace-import: waiting for 'gone.dat', which does not exist yet
#|mtrace-import: cannot open 'gone.dat': No such file or directory
