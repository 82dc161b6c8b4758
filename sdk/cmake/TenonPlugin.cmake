# tenon_add_plugin(<target> SOURCES <file>... [MANIFEST <file.json>...])
#
# Builds <target>.so, a Tenon plugin, as a target to which libraries and definitions can be added:
#   - it exports tn_plugin_entry_1 and nothing else, binds its own symbols to itself, and leaves none undefined;
#   - every MANIFEST file is embedded as a note of the plugin's manifest ({"plugin": {...}} or {"component": {...}}),
#     beside the notes that <tenon/easy.h> generates;
#   - the manifest as a whole is checked after linking, by the tenon program, if there is one. None of the plugin's
#     code runs for that.
#
# Works in the source tree of Tenon and, with find_package(Tenon), outside of it.

set(TENON_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})

function(tenon_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "" "" "SOURCES;MANIFEST")
  if(NOT plugin_SOURCES)
    message(FATAL_ERROR "tenon_add_plugin(${target}): SOURCES is missing")
  endif()
  if(plugin_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_plugin(${target}): unknown arguments: ${plugin_UNPARSED_ARGUMENTS}")
  endif()

  set(notes "")
  foreach(manifest IN LISTS plugin_MANIFEST)
    get_filename_component(path ${manifest} ABSOLUTE)
    get_filename_component(name ${manifest} NAME_WE)
    set(note ${CMAKE_CURRENT_BINARY_DIR}/${target}.notes/${name}.c)
    add_custom_command(
      OUTPUT ${note}
      COMMAND ${CMAKE_COMMAND} -D INPUT=${path} -D OUTPUT=${note} -P ${TENON_CMAKE_DIR}/TenonNote.cmake
      DEPENDS ${path} ${TENON_CMAKE_DIR}/TenonNote.cmake
      COMMENT "Embedding ${name}.json in ${target}" VERBATIM)
    # CMake ignores a source of a language that the project has not enabled.
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    if(NOT C IN_LIST languages)
      set_source_files_properties(${note} PROPERTIES LANGUAGE CXX)
    endif()
    list(APPEND notes ${note})
  endforeach()

  add_library(${target} MODULE ${plugin_SOURCES} ${notes})
  if(TARGET Tenon::sdk)
    target_link_libraries(${target} PRIVATE Tenon::sdk)
  else()
    target_link_libraries(${target} PRIVATE tenon_sdk)
  endif()
  set(script ${TENON_CMAKE_DIR}/tenon-plugin.map)
  set_target_properties(${target} PROPERTIES
    PREFIX "" SUFFIX ".so"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    LINK_DEPENDS ${script})
  # All plugins of a process would share unique C++ symbols, so hosts refuse them.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${script} -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -Wl,--as-needed)
  # Clang links the runtime of its sanitizers into the program only: its symbols are undefined in shared objects.
  if(NOT (CMAKE_C_COMPILER_ID MATCHES Clang AND "${TENON_SANITIZE} ${CMAKE_C_FLAGS}" MATCHES "sanitize|address|thread"))
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()

  set(program "")
  if(TARGET tenon)
    set(program tenon)
  elseif(TARGET Tenon::tenon)
    set(program Tenon::tenon)
  endif()
  if(program)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND $<TARGET_FILE:${program}> plugin show --validate $<TARGET_FILE:${target}>
      COMMENT "Checking the manifest of ${target}" VERBATIM)
  endif()
endfunction()
