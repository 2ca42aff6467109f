mtrace-serve
# expect status 2
# expect stderr
#|mtrace-serve: no recording was named
#|Try 'mtrace-serve --help' or 'mtrace-serve --usage' for more information.
