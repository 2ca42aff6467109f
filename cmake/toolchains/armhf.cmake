# Debian's cross compiler for ARMv7 with hardware floating point, and its C library. What tests link is made by scripts/foreign-libraries:
# packages of armhf fit beside ours only where the mirror has both in one version.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(MTRACE_TRIPLET arm-linux-gnueabihf)
set(MTRACE_COLLECTOR_ALONE ON)
set(MTRACE_EMULATED_ROOT /usr/${MTRACE_TRIPLET})
set(MTRACE_BUILT_ROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/foreign/armhf)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
