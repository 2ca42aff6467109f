: >empty.db
mtrace-serve empty.db
