-- SPDX-License-Identifier: MIT
-- _builtin_origins: one row per built-in rule about the place where a block was allocated.
--
-- Such a rule only tests modules, so it also works for libraries without symbols. The innermost position of the stack must lie
-- in a module that matches object_pattern. If caller_pattern is set, the position below must lie in a module that matches it.
-- Code of the program further out never matches, nor does code of the program that was called from there: its blocks are
-- allocated elsewhere.
CREATE VIEW _builtin_origins(
  rule,              -- joins suppressions
  object_pattern,    -- GLOB over the path of the module that allocated the block
  caller_pattern     -- GLOB over the path of the module that called it; NULL: any
) AS
VALUES
  -- The dynamic loader keeps its own blocks, or frees them with the library or thread that they belong to.
  ('made by the dynamic loader', '*/ld-linux*.so.[0-9]', NULL),
  ('made by the dynamic loader', '*/ld64.so.[0-9]', NULL),
  ('made by the dynamic loader', '*/ld-2.[0-9]*.so', NULL),
  -- Initializers of libstdc++ allocate nothing themselves except the memory for exceptions (see above).
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld-linux*.so.[0-9]'),
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld64.so.[0-9]'),
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld-2.[0-9]*.so'),
  -- omp_alloc is called by the program: its blocks are the program's.
  ('made by libgomp for its threads', '*/libgomp.so.1*', '*/libgomp.so.1*');
