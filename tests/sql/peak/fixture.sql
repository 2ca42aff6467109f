-- Process 1's peak of 10000 bytes at 60 s: site 5 has 5050 + 300 (53.5 %), site 3 4000, site 2 500 + 100, site 6 30, site 1 20.
-- Process 2's is 500 bytes at 20 s, all of site 3; process 3's 64 bytes at 40.5 s, all of site 1.
.read code.sql
.read totals.sql
