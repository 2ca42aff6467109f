# Debian's cross compiler for 32-bit x86, and libraries of i386 beside the native ones (multiarch). What is built runs on x86-64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i386)
set(MTRACE_TRIPLET i386-linux-gnu)
set(MTRACE_TOOLS i686-linux-gnu)
set(MTRACE_RUNS_HERE_ON x86_64)
set(MTRACE_COLLECTOR_ALONE ON)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
