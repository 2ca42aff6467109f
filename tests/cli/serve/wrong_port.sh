mtrace-serve --port 70000 run.db
