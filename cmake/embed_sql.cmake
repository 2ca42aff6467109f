# mtrace_embed_sql(target symbol file...): compiles .sql files into target as the table
# `const struct embedded_sql symbol[]` of lib/sqlite/embedded_sql.h, in the order given.
function(mtrace_embed_sql target symbol)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} -DOUTPUT=${output} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_sql_files.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_sql_files.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
