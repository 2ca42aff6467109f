-- As for mappings, and what they take over time, kind by kind.
.read mappings/fixture.sql
