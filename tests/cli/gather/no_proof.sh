mtrace-gather folder
