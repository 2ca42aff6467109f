mtrace-gather
