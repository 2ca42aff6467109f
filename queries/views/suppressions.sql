-- SPDX-License-Identifier: MIT
-- suppressions: one row per rule that says which leaks nobody can or needs to fix.
--
-- A rule holds when any function, source or module of the leaking stack matches its pattern; one without a pattern says
-- in words by which module the block was made. Rules that a recording of heaptrack brings from its program go first, the
-- others are built in; `mtrace-query --suppressions FILE` adds rules of its own for one question. Suppressed leaks stay
-- in the data: the views `leaks` and `leaks_by_stack` name the rule that holds in suppressed_by and list them last.
CREATE VIEW suppressions(
  rule_id,           -- lower rules win
  rule,              -- as written, in the syntax of LeakSanitizer: leak:PATTERN with *, ^ and $; or in words
  pattern            -- the same as a GLOB over whole names; NULL: a rule in words
) AS
SELECT rule_id, rule, pattern FROM _recorded_suppressions
UNION ALL
SELECT rule_id, rule, pattern FROM _builtin_suppressions
ORDER BY rule_id;
