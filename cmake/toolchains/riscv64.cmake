# Debian's cross compiler for RISC-V, of which Debian 12 has no more than the C library: the collector alone is built,
# and what its tests link is made by scripts/foreign-libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(MTRACE_TRIPLET riscv64-linux-gnu)
set(MTRACE_EMULATED_ROOT /usr/${MTRACE_TRIPLET})
set(MTRACE_BUILT_ROOT ${CMAKE_CURRENT_LIST_DIR}/../../build/foreign/riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
