-- The built-in rules need no data. Rules of the program go first; one that would match everything, and what is no rule, are left out.
.read code.sql
INSERT INTO meta VALUES
  ('suppression.0001', 'leak:plain'), ('suppression.0002', 'leak:^from*[a]?$'), ('suppression.0003', 'leak:**'),
  ('suppression.0004', 'leak:^'), ('suppression.0005', 'no rule'), ('suppression.0006', 'leak:to the end$ ');
-- expect
--|rule_id,rule,pattern
--|1,leak:plain,*plain*
--|2,leak:^from*[a]?$,from*[[]a][?]
--|3,"leak:to the end$ ","*to the end"
--|1001,leak:^_dl_map_object,_dl_map_object*
--|1002,leak:^_dl_new_object$,_dl_new_object
--|1003,leak:^_dl_check_map_versions$,_dl_check_map_versions
--|1004,leak:_dl_allocate_tls,*_dl_allocate_tls*
--|1005,leak:^_dl_init_paths$,_dl_init_paths
--|1006,leak:^add_to_global,add_to_global*
--|1007,leak:^__tls_get_addr$,__tls_get_addr
--|1008,leak:^setlocale$,setlocale
--|1009,leak:^_nl_*locale,_nl_*locale*
--|1010,leak:^__gconv_,__gconv_*
--|1011,leak:^tzset_internal$,tzset_internal
--|1012,leak:^__nss_,__nss_*
--|1013,leak:^_IO_file_doallocate$,_IO_file_doallocate
--|1014,"leak:^(anonymous namespace)::pool::pool","(anonymous namespace)::pool::pool*"
--|1015,leak:^__cxa_get_globals,__cxa_get_globals*
--|1016,leak:^g_type_register_,g_type_register_*
--|1017,leak:^g_type_init,g_type_init*
--|1018,leak:^g_intern_,g_intern_*
--|1019,leak:^g_quark_,g_quark_*
--|1020,"made by the dynamic loader",
--|1021,"made by libstdc++ as it was loaded",
--|1022,leak:^getpwuid$,getpwuid
--|1023,leak:^getpwnam$,getpwnam
--|1024,leak:^getgrgid$,getgrgid
--|1025,leak:^getgrnam$,getgrnam
--|1026,leak:register_printf_,*register_printf_*
--|1027,leak:^std::rt::init$,std::rt::init
--|1028,leak:^std::sys::*::stack_overflow::,std::sys::*::stack_overflow::*
--|1029,"made by libgomp for its threads",
