# How tests are registered. Names are kind.part.case, labels are the kind, exit status 77 means
# "skipped" and a test that skips prints why.

# MTRACE_TEST_ENVIRONMENT: what all tests of a folder have.
# mtrace_test(name LABEL kind [TIMEOUT s on an idle machine] [LABELS more…] COMMAND command…)
# What may take longest begins first, or others have ended when it still runs.
function(mtrace_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "LABELS;COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  set(cost ${arg_TIMEOUT})
  # Only what hangs shall fail: machines are busy, and sanitizers slow.
  math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABEL};${arg_LABELS}" SKIP_RETURN_CODE 77 TIMEOUT ${arg_TIMEOUT} COST ${cost}
    ENVIRONMENT "${arg_ENVIRONMENT};${MTRACE_TEST_ENVIRONMENT}")
endfunction()

# mtrace_unit_test([room/]stem LINK targets… [SOURCES more.c…]): room/test_<stem>.c with cmocka, as unit.<folder>.<stem>;
# rooms are those of the folder whose <room>/<stem>.c is tested.
function(mtrace_unit_test tested)
  cmake_parse_arguments(arg "" "TIMEOUT" "LINK;SOURCES" ${ARGN})
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  cmake_path(GET tested FILENAME stem)
  cmake_path(GET tested PARENT_PATH room)
  cmake_path(APPEND room test_${stem}.c OUTPUT_VARIABLE source)
  add_executable(test_${stem} ${source} ${arg_SOURCES})
  target_link_libraries(test_${stem} PRIVATE mtrace_options ${arg_LINK} PkgConfig::cmocka)
  mtrace_test(unit.${folder}.${stem} LABEL unit TIMEOUT ${arg_TIMEOUT} COMMAND test_${stem})
endfunction()
