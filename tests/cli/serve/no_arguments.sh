mtrace-serve
