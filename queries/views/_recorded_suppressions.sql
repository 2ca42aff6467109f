-- SPDX-License-Identifier: MIT
-- _recorded_suppressions: one row per suppression rule that the recorded program contains.
--
-- heaptrack stores what __lsan_default_suppressions of the program returns. ^ and $ anchor a pattern at the ends of a name.
CREATE VIEW _recorded_suppressions(
  rule_id,           -- from 1, in the order of the program
  rule,              -- as written, in the syntax of LeakSanitizer
  pattern            -- the same as a GLOB over whole names
) AS
WITH
  written(rule, pattern) AS (
    SELECT value, rtrim(substr(value, length('leak:') + 1))
    FROM meta WHERE key GLOB 'suppression.*' AND value GLOB 'leak:*' ORDER BY key),
  tied(rule, before, middle, after) AS (
    SELECT rule, iif(pattern GLOB '^*', '', '*'), substr(pattern, 1 + (pattern GLOB '^*'),
      length(pattern) - (pattern GLOB '^*') - (pattern GLOB '?*$')), iif(pattern GLOB '?*$', '', '*')
    FROM written)
-- A pattern that has only stars would suppress every leak.
SELECT row_number() OVER (), rule, before || replace(replace(middle, '[', '[[]'), '?', '[?]') || after
FROM tied WHERE trim(middle, '*') <> '';
