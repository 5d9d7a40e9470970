# The CUDA sources, where there is a compiler for them and something to compile.
include(CheckLanguage)
file(GLOB_RECURSE whorl_cuda_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cu")
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA: no nvcc found; building for the CPU only")
elseif(NOT whorl_cuda_sources)
  message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER} found, but the tree has no .cu files yet; "
                 "building for the CPU only")
else()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 89-real 90a-real 100)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  target_sources(whorl PRIVATE ${whorl_cuda_sources})
  # The target is older than the language, so it has not taken the architectures over; and CMake
  # 3.25 does not know that nvcc 13 speaks C++20.
  set_target_properties(whorl PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
  target_compile_options(whorl PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  target_link_libraries(whorl PRIVATE $<BUILD_INTERFACE:CUDA::cudart_static>)
  list(LENGTH whorl_cuda_sources whorl_cuda_count)
  message(STATUS "CUDA: compiling ${whorl_cuda_count} files for ${CMAKE_CUDA_ARCHITECTURES}")
endif()
