-- Process 1 has 111 blocks: 91 below worker are guessed (81.98 %), 17 complete (15.3 %), all of them ending in libc's _start;
-- stack 11 lost its caller: its last frame is in libwork.so (3 of 111). The synthetic root itself, when it allocates, is in no file.
.read code.sql
.read totals.sql
INSERT INTO backtrace_totals SELECT 2, 10, 5, 50, 5, 50, 0, 0, NULL, NULL, 0, 0, 0, 0, 50, 9, 9, 9, 10, 10, 0, 0, 5, 0, 0, 0, 0, 0;
