# Debian's cross compiler for ARMv7 with hardware floating point, and libraries of armhf beside the native ones (multiarch).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(MTRACE_TRIPLET arm-linux-gnueabihf)
set(MTRACE_COLLECTOR_ALONE ON)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
