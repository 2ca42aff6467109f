# What a processor is called in collector/arch/, and what its compiler can be asked for.
set(MTRACE_ARCH ${CMAKE_SYSTEM_PROCESSOR})
if(MTRACE_ARCH MATCHES "^(amd64|AMD64)$")
  set(MTRACE_ARCH x86_64)
elseif(MTRACE_ARCH MATCHES "^(arm64|ARM64)$")
  set(MTRACE_ARCH aarch64)
elseif(MTRACE_ARCH MATCHES "^i[3-6]86$")
  set(MTRACE_ARCH i386)
elseif(MTRACE_ARCH MATCHES "^arm")
  set(MTRACE_ARCH arm)
elseif(MTRACE_ARCH STREQUAL "mips64" AND CMAKE_C_BYTE_ORDER STREQUAL "LITTLE_ENDIAN") # so uname says
  set(MTRACE_ARCH mips64el)
endif()
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/collector/arch/arch_${MTRACE_ARCH}.c)
  message(FATAL_ERROR "no collector for ${CMAKE_SYSTEM_PROCESSOR} yet: docs/porting.md says what one is made of")
endif()

include(CheckCCompilerFlag)
check_c_compiler_flag(-mgeneral-regs-only MTRACE_HAS_GENERAL_REGS_ONLY)
if(MTRACE_ARCH STREQUAL "arm")
  # ARM code, where r11 leads to the two words of a frame; r7 is left to the program (collector/arch/arch_arm.h).
  set(MTRACE_FRAMES -marm -ffixed-r7)
endif()
if(MTRACE_ARCH STREQUAL "i386")
  # Atomic words of 64 bits are loaded by an SSE2 register, not by one of the x87, which are the program's where it uses MMX.
  set(MTRACE_WIDE_ATOMICS -msse2 -fno-tree-vectorize)
elseif(MTRACE_HAS_GENERAL_REGS_ONLY)
  set(MTRACE_GENERAL_REGS -mgeneral-regs-only)
endif()
