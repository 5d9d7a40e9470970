# bench/NAME.cpp is the program bench_NAME; Google Benchmark is there for those that include it.
# bench/cuda_NAME.cpp is about kernels of the CUDA backend, and built with it. bench/tensor_cores.cu
# has kernels of its own; bench/tune is one program, built when asked for.
find_package(benchmark QUIET)
file(GLOB whorl_bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.cpp")
if(NOT whorl_cuda)
  list(FILTER whorl_bench_sources EXCLUDE REGEX "/bench/cuda_")
endif()
foreach(source IN LISTS whorl_bench_sources)
  file(STRINGS "${source}" whorl_uses_benchmark REGEX "include <benchmark/" LIMIT_COUNT 1)
  if(whorl_uses_benchmark AND NOT benchmark_FOUND)
    message(STATUS "Skipping ${source}: Google Benchmark (libbenchmark-dev) is absent")
    continue()
  endif()
  get_filename_component(name "${source}" NAME_WE)
  add_executable(bench_${name} "${source}")
  whorl_target_flags(bench_${name})
  set_target_properties(bench_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY
                                                 "${PROJECT_BINARY_DIR}/bench")
  target_include_directories(bench_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(bench_${name} PRIVATE whorl PkgConfig::whorl_hwy PkgConfig::whorl_sodium
                                              Threads::Threads)
  if(whorl_uses_benchmark)
    target_link_libraries(bench_${name} PRIVATE benchmark::benchmark)
  endif()
  if(name MATCHES "^cuda_")
    target_include_directories(bench_${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endforeach()

# Those that want a GPU; tools/gpu-bundle.sh reads their names.
if(whorl_cuda)
  set(whorl_gpu_benches "")
  foreach(source IN LISTS whorl_bench_sources)
    get_filename_component(name "${source}" NAME_WE)
    if(name MATCHES "^(cuda_.*|gpu|rns|bgv)$" AND TARGET bench_${name})
      list(APPEND whorl_gpu_benches bench_${name})
    endif()
  endforeach()
  add_executable(bench_tensor_cores "${PROJECT_SOURCE_DIR}/bench/tensor_cores.cu")
  target_compile_options(bench_tensor_cores PRIVATE $<TARGET_PROPERTY:whorl,COMPILE_OPTIONS>)
  set_target_properties(
    bench_tensor_cores
    PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
               CUDA_RUNTIME_LIBRARY Static
               RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_include_directories(bench_tensor_cores PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(bench_tensor_cores PRIVATE whorl PkgConfig::whorl_hwy
                                                   PkgConfig::whorl_sodium CUDA::cudart_static
                                                   Threads::Threads)
  list(APPEND whorl_gpu_benches bench_tensor_cores)
  add_custom_target(gpu_benches DEPENDS ${whorl_gpu_benches})
  list(JOIN whorl_gpu_benches "\n" whorl_gpu_benches)
  file(WRITE "${PROJECT_BINARY_DIR}/gpu_benches.txt" "${whorl_gpu_benches}\n")
endif()

# Tunes the CUDA kernels (make tune-gpu); its kernels are compiled as the library's are.
if(whorl_cuda)
  file(GLOB whorl_tune_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/tune/*.cu")
  add_executable(tune_gpu EXCLUDE_FROM_ALL ${whorl_tune_sources})
  target_compile_options(tune_gpu PRIVATE $<TARGET_PROPERTY:whorl,COMPILE_OPTIONS>)
  set_target_properties(
    tune_gpu
    PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
               CUDA_RUNTIME_LIBRARY Static
               RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  target_include_directories(tune_gpu PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(tune_gpu PRIVATE whorl PkgConfig::whorl_hwy PkgConfig::whorl_sodium
                                                CUDA::cudart_static Threads::Threads)
endif()
