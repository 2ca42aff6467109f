. "$CASES/../lib.sh"
# What will not become a log is refused, not waited for.
mkfifo pipe.dat
mkdir folder
ln -s b.dat a.dat
ln -s a.dat b.dat
for log in pipe.dat folder /dev/null a.dat; do
    complain timeout 20 mtrace-import --follow $log out.db
done
complain mtrace-import --follow gone.dat out.db
ls
