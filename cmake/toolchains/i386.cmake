# Debian's cross compiler for 32-bit x86. What is built runs on x86-64, with its C library for 32 bits; what tests link is made by
# scripts/foreign-libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i386)
set(MTRACE_TRIPLET i386-linux-gnu)
set(MTRACE_TOOLS i686-linux-gnu)
set(MTRACE_RUNS_HERE_ON x86_64)
set(MTRACE_COLLECTOR_ALONE ON)
set(MTRACE_BUILT_ROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/foreign/i386)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
