-- As leaks, but by stack: stack 4 leaks 6 of 10 blocks steadily, stack 5 one of two. Stacks 4 and 5 are freed in site 4,
-- stack 4 by 3 blocks to 1. Stack 9 is below setlocale: suppressed, last. Nothing of process 3.
.read code.sql
.read totals.sql
-- Of stack 2 more were freed on stacks that are not told apart (0) than anywhere else: nothing is said. Of stack 6 in process 2 as many.
INSERT INTO free_sites VALUES (1, 2, 0, 3, 30), (2, 6, 0, 4, 400);
