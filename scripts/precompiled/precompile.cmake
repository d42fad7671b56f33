# Without CMake's `-Xclang -include`, from which ccache doesn't take this checkout's directory. The
# directories that are added behind it take it over.
set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)

# precompile(NAME DIRECTORY...): gives all targets in the directories the precompiled header
# scripts/precompiled/NAME.h. It holds for them only where they are compiled as it was.
function(precompile name)
  set(targets)
  foreach(directory ${ARGN})
    find_targets(${PROJECT_SOURCE_DIR}/${directory} found)
    list(APPEND targets ${found})
  endforeach()
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled/${name}.cc "")
  add_library(precompiled_${name} OBJECT ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  target_link_libraries(precompiled_${name} PRIVATE cluster_watcher_options)
  target_precompile_headers(precompiled_${name} PRIVATE <scripts/precompiled/${name}.h>)
  set_target_properties(precompiled_${name} PROPERTIES PCH_INSTANTIATE_TEMPLATES ON
    CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/scripts/precompiled/compile)
  foreach(target precompiled_${name} ${targets})
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "EXECUTABLE|STATIC_LIBRARY|OBJECT_LIBRARY")
      continue()
    endif()
    # What is in the header asks for these; without its time it is the same each time.
    target_compile_definitions(${target} PRIVATE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL SPDLOG_SHARED_LIB FMT_SHARED)
    target_compile_options(${target} PRIVATE -DGTEST_HAS_PTHREAD=1 "SHELL:-Xclang -fno-pch-timestamp")
    if(NOT target STREQUAL precompiled_${name})
      target_precompile_headers(${target} REUSE_FROM precompiled_${name})
    endif()
  endforeach()
endfunction()

function(find_targets directory found)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory ${below})
    find_targets(${subdirectory} more)
    list(APPEND targets ${more})
  endforeach()
  set(${found} ${targets} PARENT_SCOPE)
endfunction()
