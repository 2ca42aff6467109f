# A shell that execs the program is listed last, because the user asks about the program.
. "$CASES/../fixture.sh"
sqlite3 run.db "UPDATE processes SET end_kind = 'exec', end_value = NULL WHERE process_id = 1; UPDATE processes SET end_kind = 'exit', end_value = 0 WHERE process_id = 2"
for command in summary leaks; do
    mtrace-query $command run.db | grep -o '(process [0-9]*'
done
# expect stdout
#|(process 2
#|(process 1
#|(process 3
#|(process 2
#|(process 1
#|(process 3
