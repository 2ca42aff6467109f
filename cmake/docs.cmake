# Pages that are generated from the sources: docs/schema.md and docs/invariants.md in the build folder.
# They are reference material for developers. Without Python the build goes on without them.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(NOT Python3_Interpreter_FOUND)
  return()
endif()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
file(GLOB_RECURSE schema_sources CONFIGURE_DEPENDS importer/schema/*.sql queries/views/*.sql)
file(GLOB_RECURSE invariants_sources CONFIGURE_DEPENDS lib/*.h collector/*.h symbolizer/*.h importer/*.h queries/*.h remote/*.h
     recorder/*.h server/*.h)
set(schema_script schema_doc.py)
set(invariants_script invariants.py)
foreach(page schema invariants)
  set(output ${PROJECT_BINARY_DIR}/docs/${page}.md)
  set(script ${PROJECT_SOURCE_DIR}/tests/contract/${${page}_script})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${Python3_EXECUTABLE} -B ${script} ${PROJECT_SOURCE_DIR} --write ${output}
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/tests/contract/tree.py ${${page}_sources}
    VERBATIM)
  list(APPEND pages ${output})
endforeach()
add_custom_target(docs ALL DEPENDS ${pages})
