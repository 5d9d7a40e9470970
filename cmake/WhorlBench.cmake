# bench/NAME.cpp, or the folder bench/NAME, is the program bench_NAME. bench/cuda_NAME is about
# kernels of the CUDA backend, and built with it; bench/tune is one program, built when asked for.
# bench/common is what they share.
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
if(NOT CLI11_FOUND OR NOT nlohmann_json_FOUND)
  message(
    STATUS
      "Skipping the benches: CLI11 (libcli11-dev) or nlohmann/json (nlohmann-json3-dev) is absent")
  return()
endif()

# What every program of bench/ is compiled with; .cu files as the library's are.
function(whorl_bench_flags target)
  get_target_property(sources ${target} SOURCES)
  if(sources MATCHES "\\.cu(;|$)")
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:whorl_backend,COMPILE_OPTIONS>)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
                                               CUDA_RUNTIME_LIBRARY Static)
    target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  else()
    whorl_target_flags(${target})
  endif()
  target_include_directories(
    ${target} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src"
                      "${PROJECT_SOURCE_DIR}/bench")
  target_link_libraries(${target} PRIVATE PkgConfig::whorl_hwy PkgConfig::whorl_sodium
                                          Threads::Threads)
endfunction()

file(GLOB whorl_bench_common CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/common/*.cpp")
add_library(bench_common STATIC EXCLUDE_FROM_ALL ${whorl_bench_common})
whorl_bench_flags(bench_common)
target_link_libraries(bench_common PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json)

# The program bench_NAME of these sources.
function(whorl_add_bench name)
  add_executable(bench_${name} ${ARGN})
  whorl_bench_flags(bench_${name})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 "${PROJECT_BINARY_DIR}/bench")
  target_link_libraries(bench_${name} PRIVATE bench_common whorl_inside)
  if(whorl_cuda)
    target_include_directories(bench_${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(bench_${name} PRIVATE WHORL_CUDA=1)
  endif()
endfunction()

set(whorl_benches "")
file(GLOB whorl_bench_entries CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*")
foreach(entry IN LISTS whorl_bench_entries)
  get_filename_component(name "${entry}" NAME_WE)
  if(IS_DIRECTORY "${entry}")
    if(name MATCHES "^(common|tune)$")
      continue()
    endif()
    file(GLOB sources CONFIGURE_DEPENDS "${entry}/*.cpp" "${entry}/*.cu")
  elseif(entry MATCHES "\\.(cpp|cu)$")
    set(sources "${entry}")
  else()
    set(sources "")
  endif()
  if(NOT sources OR (NOT whorl_cuda AND "${name};${sources}" MATCHES "^cuda_|\\.cu(;|$)"))
    continue()
  endif()
  whorl_add_bench(${name} ${sources})
  list(APPEND whorl_benches ${name})
endforeach()

# Those that want a GPU. Then bench_tune, which finds the numbers of the CUDA kernels (make tune-gpu).
if(whorl_cuda)
  list(FILTER whorl_benches INCLUDE REGEX "^(cuda_.*|gpu|rns|bgv|ckks|ckks_bootstrap|tensorfhe|tree)$")
  list(TRANSFORM whorl_benches PREPEND bench_ OUTPUT_VARIABLE whorl_gpu_benches)
  if(WHORL_TESTS)
    include(WhorlBundle)
  endif()

  file(GLOB whorl_tune_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/tune/*.cu")
  whorl_add_bench(tune ${whorl_tune_sources})
  set_target_properties(bench_tune PROPERTIES EXCLUDE_FROM_ALL ON OUTPUT_NAME tune_gpu)
  add_custom_target(tune_gpu DEPENDS bench_tune)
endif()
