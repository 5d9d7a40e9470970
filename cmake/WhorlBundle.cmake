# gpu_bundle: the GPU tests and the benches that want a GPU, in one program, whorl_gpu, so that the
# kernels are in it once (tools/gpu-bundle.sh). The program's first argument names what is run.
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

set(whorl_entries "")
add_executable(whorl_gpu EXCLUDE_FROM_ALL)

# Takes the objects of `program` over; `source`, which defines main, is compiled again, with another
# name for it and the flags of `program`.
function(whorl_bundle program source)
  add_library(${program}_entry OBJECT EXCLUDE_FROM_ALL "${source}")
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_FEATURES COMPILE_DEFINITIONS INCLUDE_DIRECTORIES
                            LINK_LIBRARIES CXX_EXTENSIONS CXX_VISIBILITY_PRESET
                            VISIBILITY_INLINES_HIDDEN)
    get_target_property(value ${program} ${property})
    if(NOT value STREQUAL "value-NOTFOUND")
      set_target_properties(${program}_entry PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  target_compile_definitions(${program}_entry PRIVATE main=whorl_main_${program})
  get_filename_component(name "${source}" NAME)
  string(REPLACE "." "\\." name "${name}")
  target_sources(
    whorl_gpu PRIVATE $<TARGET_OBJECTS:${program}_entry>
                      "$<FILTER:$<TARGET_OBJECTS:${program}>,EXCLUDE,/${name}\\.o$>")
  list(APPEND whorl_entries ${program})
  set(whorl_entries "${whorl_entries}" PARENT_SCOPE)
endfunction()

whorl_bundle(whorl_tests_gpu "${PROJECT_SOURCE_DIR}/tests/gpu/main.cpp")
get_target_property(whorl_shared whorl_tests_gpu whorl_shared_objects)
target_sources(whorl_gpu PRIVATE ${whorl_shared})
foreach(bench IN LISTS whorl_gpu_benches)
  get_target_property(sources ${bench} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" found REGEX "^int main\\(" LIMIT_COUNT 1)
    if(found)
      whorl_bundle(${bench} "${source}")
    endif()
  endforeach()
endforeach()

set(whorl_declarations "")
set(whorl_rows "")
foreach(entry IN LISTS whorl_entries)
  string(APPEND whorl_declarations "int whorl_main_${entry}(int count, char** arguments);\n")
  string(APPEND whorl_rows "    {\"${entry}\", &whorl_main_${entry}},\n")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/gpu_bundle.cpp.in" "${PROJECT_BINARY_DIR}/gpu_bundle.cpp"
               @ONLY)
target_sources(whorl_gpu PRIVATE "${PROJECT_BINARY_DIR}/gpu_bundle.cpp")
whorl_target_flags(whorl_gpu)
foreach(layer IN LISTS whorl_built_layers)
  target_sources(whorl_gpu PRIVATE $<TARGET_OBJECTS:whorl_${layer}>)
endforeach()
target_link_libraries(
  whorl_gpu PRIVATE bench_common GTest::gtest rapidcheck PkgConfig::whorl_hwy
                    PkgConfig::whorl_sodium Threads::Threads CUDA::cudart_static)
list(JOIN whorl_entries "\n" whorl_lines)
file(WRITE "${PROJECT_BINARY_DIR}/gpu_bundle.txt" "${whorl_lines}\n")
