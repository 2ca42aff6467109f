# The command that mtrace-record suggests works as it is printed, whatever the name of the log is.
. "$CASES/../lib.sh"
for name in "two words.dat" "it's \$HOME.dat" '"*"&;.dat' plain-1.dat; do
    mtrace-record -o "$name" -- sh -c 'exit 0' 2>record.txt
    command=$(sed -n 's/.*; next: //p' record.txt)
    echo "$command"
    eval "$command" 2>query.txt | sed -n 's/ (pid.*//p'
    [ -e "${name%.dat}.db" ] || echo "there is no database of $name"
done
# expect stdout
#|mtrace-query 'two words.dat'
#|two words.db  sh
#|mtrace-query 'it'\''s $HOME.dat'
#|it's $HOME.db  sh
#|mtrace-query '"*"&;.dat'
#|"*"&;.db  sh
#|mtrace-query plain-1.dat
#|plain-1.db  sh
