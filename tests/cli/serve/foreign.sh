echo "no database" >run.db
mtrace-serve run.db
# expect status 1
# expect stderr
#|mtrace-serve: 'run.db' is not an mtrace database; mtrace-import makes one
