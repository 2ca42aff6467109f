mtrace-serve absent.db
# expect status 1
# expect stderr
#|mtrace-serve: cannot open 'absent.db': No such file or directory
