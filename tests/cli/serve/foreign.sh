echo "no database" >run.db
mtrace-serve run.db
