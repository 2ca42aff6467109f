-- Self: site 5 and 6 in libwork.so (94 blocks, 9330 bytes), sites 1 to 3 in server (17 blocks, 5240 bytes), none in libc or libstdc++.
-- Inclusive: everything but stack 11 is below _start in libc (108 blocks), though libc is on stack 9 twice; server has what is below main
-- (17 blocks), libstdc++ what came through operator new (stack 4: 10 blocks).
.read code.sql
.read totals.sql
