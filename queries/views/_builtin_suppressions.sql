-- SPDX-License-Identifier: MIT
-- _builtin_suppressions: one row per suppression rule that holds for every program, with its reason.
--
-- Rules without a pattern test where a block was allocated, not which functions are on the stack: see _builtin_origins.
CREATE VIEW _builtin_suppressions(
  rule_id,           -- from 1001, so that the user's own rules win
  rule,              -- as written, in the syntax of LeakSanitizer
  pattern            -- the same as a GLOB over whole names; NULL: a rule of _builtin_origins
) AS
VALUES
  -- The dynamic loader keeps link maps, search paths, scopes and TLS vectors for as long as the process lives.
  (1001, 'leak:^_dl_map_object', '_dl_map_object*'),
  (1002, 'leak:^_dl_new_object$', '_dl_new_object'),
  (1003, 'leak:^_dl_check_map_versions$', '_dl_check_map_versions'),
  (1004, 'leak:_dl_allocate_tls', '*_dl_allocate_tls*'),
  (1005, 'leak:^_dl_init_paths$', '_dl_init_paths'),
  (1006, 'leak:^add_to_global', 'add_to_global*'),
  (1007, 'leak:^__tls_get_addr$', '__tls_get_addr'),
  -- Locale, character set, time zone and name service tables are read once and kept.
  (1008, 'leak:^setlocale$', 'setlocale'),
  (1009, 'leak:^_nl_*locale', '_nl_*locale*'),
  (1010, 'leak:^__gconv_', '__gconv_*'),
  (1011, 'leak:^tzset_internal$', 'tzset_internal'),
  (1012, 'leak:^__nss_', '__nss_*'),
  -- getpwuid and similar functions return a buffer of their own.
  (1022, 'leak:^getpwuid$', 'getpwuid'),
  (1023, 'leak:^getpwnam$', 'getpwnam'),
  (1024, 'leak:^getgrgid$', 'getgrgid'),
  (1025, 'leak:^getgrnam$', 'getgrnam'),
  -- Buffers of stdin, stdout and stderr are never freed.
  (1013, 'leak:^_IO_file_doallocate$', '_IO_file_doallocate'),
  -- libstdc++ allocates memory at its start for exceptions that are thrown when memory is exhausted. Threads have exception state.
  (1014, 'leak:^(anonymous namespace)::pool::pool', '(anonymous namespace)::pool::pool*'),
  (1015, 'leak:^__cxa_get_globals', '__cxa_get_globals*'),
  -- GLib never frees types and interned strings, by design.
  (1016, 'leak:^g_type_register_', 'g_type_register_*'),
  (1017, 'leak:^g_type_init', 'g_type_init*'),
  (1018, 'leak:^g_intern_', 'g_intern_*'),
  (1019, 'leak:^g_quark_', 'g_quark_*'),
  -- libquadmath registers its formats for printf as it is loaded. Rust keeps what it knows about the stack of each thread.
  (1026, 'leak:register_printf_', '*register_printf_*'),
  (1027, 'leak:^std::rt::init$', 'std::rt::init'),
  (1028, 'leak:^std::sys::*::stack_overflow::', 'std::sys::*::stack_overflow::*'),
  -- The same for libraries without symbols.
  (1020, 'made by the dynamic loader', NULL),
  (1021, 'made by libstdc++ as it was loaded', NULL),
  (1029, 'made by libgomp for its threads', NULL);
