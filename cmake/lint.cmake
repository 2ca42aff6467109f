# Preset lint: clang-tidy runs on every source as it is compiled; the targets below are part of `all`.
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy REQUIRED)
find_program(CLANG_FORMAT NAMES clang-format-14 clang-format REQUIRED)
find_program(SHELLCHECK shellcheck REQUIRED)
set(CMAKE_C_CLANG_TIDY ${CLANG_TIDY} --quiet)

set(each_source "git ls-files -z -- '*.c' '*.h' | xargs -0")
add_custom_target(lint_format ALL
  COMMAND sh -c "${each_source} ${CLANG_FORMAT} --dry-run --Werror"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM COMMENT "clang-format")
add_custom_target(format
  COMMAND sh -c "${each_source} ${CLANG_FORMAT} -i"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM COMMENT "clang-format -i")
add_custom_target(lint_shell ALL
  COMMAND sh -c "${SHELLCHECK} scripts/* .ci/run"
  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM COMMENT "shellcheck")
