# What `cmake --install` and `cpack -G DEB` put where. libmtrace.so and its oracle live in a private
# directory, because nobody links them; mtrace-record finds them by ../lib/mtrace from its own path.
set(MTRACE_PRIVATE_LIBDIR lib/mtrace)

# A machine has the programs once and a collector for each processor whose programs it runs: those of others lie beside its own,
# each in a package of its own name that shares no file with another (recorder/session/collector_library.h finds them).
if(CMAKE_CROSSCOMPILING)
  set(package collector)
else()
  set(package all)
endif()
set(MTRACE_PACKAGE ${package} CACHE STRING "What cpack packs: all, or the collector alone to lie beside that of another processor")
set(MTRACE_COLLECTOR_LIBDIR ${MTRACE_PRIVATE_LIBDIR})
if(MTRACE_PACKAGE STREQUAL "collector")
  set(MTRACE_COLLECTOR_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE}/mtrace)
endif()

foreach(program mtrace-record mtrace-import mtrace-query mtrace-serve)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(FILES docs/man/${program}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES completions/${program} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES completions/fish/mtrace.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME ${program}.fish)
endforeach()
install(FILES completions/zsh/_mtrace DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)

if(TARGET mtrace-record)
  install(PROGRAMS recorder/cli/mtrace-run DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES docs/man/mtrace-run.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES completions/mtrace-run DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

if(TARGET mtrace-gather)
  install(TARGETS mtrace-gather RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS mtrace-send RUNTIME DESTINATION ${MTRACE_PRIVATE_LIBDIR})
  install(FILES docs/man/mtrace-gather.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES completions/mtrace-gather DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES completions/fish/mtrace.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME mtrace-gather.fish)
endif()

foreach(library mtrace mtrace_new mtrace_attach mtrace_oracle)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${MTRACE_COLLECTOR_LIBDIR} NAMELINK_SKIP COMPONENT collector)
  endif()
endforeach()

if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/queries/views)
  install(DIRECTORY queries/views DESTINATION ${CMAKE_INSTALL_DATADIR}/mtrace FILES_MATCHING PATTERN "*.sql")
endif()
install(DIRECTORY importer/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/mtrace FILES_MATCHING PATTERN "*.sql")

# For programs that speak of themselves: headers, and how their builds find them, in places that do not depend on the processor.
include(CMakePackageConfigHelpers)
install(FILES include/mtrace.h include/mtrace.hpp include/mtrace_objects.h include/mtrace_objects.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/mtrace.pc.in mtrace.pc @ONLY)
configure_file(cmake/mtraceConfig.cmake.in mtraceConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mtraceConfigVersion.cmake COMPATIBILITY SameMajorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/mtrace.pc DESTINATION share/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/mtraceConfig.cmake ${PROJECT_BINARY_DIR}/mtraceConfigVersion.cmake
        DESTINATION share/cmake/mtrace)

install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mtrace)
set(CPACK_PACKAGE_CONTACT "mtrace developers <mtrace@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# A private directory: dpkg-shlibdeps must not look for packages that provide libmtrace.so.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/collector)
# What is loaded by name, dpkg-shlibdeps cannot see; Debian calls the package of libName.so.4.0 libname4.0.
if(MTRACE_ZYDIS_SONAME)
  string(REPLACE ".so." "" zydis_package ${MTRACE_ZYDIS_SONAME})
  string(TOLOWER ${zydis_package} CPACK_DEBIAN_PACKAGE_DEPENDS)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "sqlite3, libc6-dbg")
if(MTRACE_PACKAGE STREQUAL "collector")
  set(CPACK_COMPONENTS_ALL collector)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  # As mtrace-record calls it where it is missing (recorder/session/collector_library.c).
  string(REGEX REPLACE "-.*" "" processor "${CMAKE_LIBRARY_ARCHITECTURE}")
  set(CPACK_DEBIAN_COLLECTOR_PACKAGE_NAME mtrace-collector-${processor})
  # Of all architectures, as Debian's own libraries for cross compilers are: it is installed where mtrace is, which is on another
  # processor, whose apt need not know this one. Nor is libc asked for: programs of this processor have theirs, wherever that is.
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "")
  set(CPACK_DEBIAN_COLLECTOR_DESCRIPTION
      "The collector for ${CMAKE_LIBRARY_ARCHITECTURE}, which mtrace-record of another processor preloads into programs of that one.")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS mtrace)
endif()
include(CPack)
