-- SPDX-License-Identifier: MIT
-- _builtin_origins: one row per built-in rule about the place where a block was made.
--
-- Such a rule holds by modules alone, so that it does so for libraries without symbols, too: the innermost position of
-- the stack lies in a module that matches object_pattern and, if caller_pattern is set, the one below it in a module
-- that matches that. Code of the program that runs further out, or that was called from there, never matches: its
-- blocks are made elsewhere.
CREATE VIEW _builtin_origins(
  rule,              -- joins suppressions
  object_pattern,    -- GLOB over the path of the module that made the block
  caller_pattern     -- GLOB over the path of the module that called it; NULL: any
) AS
VALUES
  -- What the dynamic loader allocates for itself, it keeps or frees with the library or thread that it is for.
  ('made by the dynamic loader', '*/ld-linux*.so.[0-9]', NULL),
  ('made by the dynamic loader', '*/ld64.so.[0-9]', NULL),
  ('made by the dynamic loader', '*/ld-2.[0-9]*.so', NULL),
  -- The memory for exceptions (see above) is all that initializers of libstdc++ take from malloc themselves.
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld-linux*.so.[0-9]'),
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld64.so.[0-9]'),
  ('made by libstdc++ as it was loaded', '*/libstdc++.so.6*', '*/ld-2.[0-9]*.so');
