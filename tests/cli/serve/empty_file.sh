: >empty.db
mtrace-serve empty.db
# expect status 1
# expect stderr
#|mtrace-serve: 'empty.db' is empty; mtrace-import makes databases
