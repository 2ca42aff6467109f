# What every target of ours is built with. Nothing global: link mtrace_options (offline code) or
# mtrace_warnings alone (code that runs inside the program under test).

add_library(mtrace_warnings INTERFACE)
target_compile_features(mtrace_warnings INTERFACE c_std_17)
target_compile_definitions(mtrace_warnings INTERFACE _GNU_SOURCE MTRACE_VERSION="${PROJECT_VERSION}"
                           MTRACE_CHECK_LEVEL=${MTRACE_CHECK_LEVEL})
target_include_directories(mtrace_warnings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(mtrace_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
    -Wmissing-prototypes -Wformat=2 -Wundef -Wvla -Wwrite-strings -Wcast-qual -Wnull-dereference
    -Wimplicit-fallthrough -Wdouble-promotion>)

add_library(mtrace_options INTERFACE)
target_link_libraries(mtrace_options INTERFACE mtrace_warnings)
if(MTRACE_SANITIZE)
  target_compile_options(mtrace_options INTERFACE -fsanitize=${MTRACE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(mtrace_options INTERFACE -fsanitize=${MTRACE_SANITIZE})
endif()
if(MTRACE_FUZZ)
  # libFuzzer looks for inputs that reach new code: it must see the code that is tested.
  target_compile_options(mtrace_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(MTRACE_COVERAGE)
  target_compile_options(mtrace_options INTERFACE --coverage)
  target_link_options(mtrace_options INTERFACE --coverage)
endif()

# Libraries whose small functions an event passes through in dozens: whoever links them with mtrace_whole_program has them
# compiled as one, which takes a tenth off the time of an import. Two counts that lie side by side are not added as one vector:
# to load what was stored in halves a moment ago the processor waits for the stores. Their objects are ordinary ones, too, for tests, which say so
# (-fno-lto): gcc's linker plugin takes the other form wherever it finds it. Who has the property WHOLE_PROGRAM must not say so:
# gcc takes it for the last word wherever it stands.
add_library(mtrace_whole_program INTERFACE)
function(mtrace_whole_program_parts)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR MTRACE_SANITIZE OR MTRACE_COVERAGE OR MTRACE_FUZZ)
    return()
  endif()
  set(optimized "$<CONFIG:Release,RelWithDebInfo>")
  foreach(library IN LISTS ARGN)
    target_compile_options(${library} PRIVATE "$<${optimized}:-O3;-fno-tree-slp-vectorize;-flto=auto;-ffat-lto-objects>")
  endforeach()
  target_link_options(mtrace_options INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:WHOLE_PROGRAM>>>:-fno-lto>")
  target_link_options(mtrace_whole_program INTERFACE "$<${optimized}:-O3;-flto=auto>")
endfunction()
