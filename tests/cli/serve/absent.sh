mtrace-serve absent.db
