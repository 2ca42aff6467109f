# Preset coverage: `cmake --build --preset coverage --target coverage` after the tests; needs gcovr.
find_program(GCOVR gcovr)
if(GCOVR)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/coverage)
  add_custom_target(coverage
    COMMAND ${GCOVR} --root ${PROJECT_SOURCE_DIR} --exclude tests/ --exclude build/ --exclude bench/ --print-summary
      --html-details ${CMAKE_BINARY_DIR}/coverage/index.html ${CMAKE_BINARY_DIR}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM USES_TERMINAL)
endif()
