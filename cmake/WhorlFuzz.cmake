# tests/fuzz/NAME.cpp defines LLVMFuzzerTestOneInput. With WHORL_FUZZ (clang) it becomes a libFuzzer
# program, to be run for as long as wanted; without, a plain driver replays the corpus and mutates
# it for a few seconds, so that every test run, with any compiler, feeds the loaders bad bytes.
file(GLOB whorl_fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/fuzz/*.cpp")

if(WHORL_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "WHORL_FUZZ needs clang; this is ${CMAKE_CXX_COMPILER_ID}")
endif()

if(NOT WHORL_FUZZ)
  add_library(fuzz_driver OBJECT "${PROJECT_SOURCE_DIR}/tests/fuzz/driver/driver.cpp")
  whorl_target_flags(fuzz_driver)
endif()

foreach(source IN LISTS whorl_fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(fuzz_${name} "${source}")
  whorl_target_flags(fuzz_${name})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                "${PROJECT_BINARY_DIR}/fuzz")
  target_include_directories(fuzz_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                  "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(fuzz_${name} PRIVATE WHORL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(fuzz_${name} PRIVATE whorl_inside PkgConfig::whorl_sodium Threads::Threads)
  set(corpus "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${name}")
  if(NOT EXISTS "${corpus}")
    set(corpus "")
  endif()
  if(WHORL_FUZZ)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    if(NOT WHORL_SANITIZE)
      message(WARNING "Fuzzing without sanitizers misses most of what it could find; "
                      "use the fuzz preset")
    endif()
  else()
    target_sources(fuzz_${name} PRIVATE $<TARGET_OBJECTS:fuzz_driver>)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} --seconds 5 ${corpus})
    set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 120 LABELS fuzz)
  endif()
endforeach()
