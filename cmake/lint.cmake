# Preset lint: clang-tidy runs on every source as it is compiled; format and shell are tests (contract.format, contract.shell).
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy REQUIRED)
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format REQUIRED)
set(CMAKE_C_CLANG_TIDY ${CLANG_TIDY} --quiet)

add_custom_target(format
  COMMAND sh -c "git ls-files -z -- '*.c' '*.h' | xargs -0 ${CLANG_FORMAT} -i"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM COMMENT "clang-format -i")
