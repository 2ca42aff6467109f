-- SPDX-License-Identifier: MIT
-- suppressions: one row per rule that names leaks which the program's authors cannot or need not fix.
--
-- A rule holds if any function, source or module of the leaking stack matches its pattern. A rule without a pattern says in words
-- which module must have allocated the block. Rules that heaptrack recorded from the program come first; the others are built in.
-- `mtrace-query --suppressions FILE` adds rules for one query. Suppressed leaks stay in the data: the views `leaks` and
-- `leaks_by_stack` name the matching rule in suppressed_by and list them last.
CREATE VIEW suppressions(
  rule_id,           -- the rule with the lower number wins
  rule,              -- as written, in the syntax of LeakSanitizer: leak:PATTERN with *, ^ and $; or in words
  pattern            -- the same as a GLOB over whole names; NULL: a rule in words
) AS
SELECT rule_id, rule, pattern FROM _recorded_suppressions
UNION ALL
SELECT rule_id, rule, pattern FROM _builtin_suppressions
ORDER BY rule_id;
