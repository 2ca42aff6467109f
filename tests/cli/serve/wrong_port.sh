mtrace-serve --port 70000 run.db
# expect status 2
# expect stderr
#|mtrace-serve: --port is '70000', but must be a number from 1 to 65535
#|Try 'mtrace-serve --help' or 'mtrace-serve --usage' for more information.
