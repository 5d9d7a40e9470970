# Whether the CUDA backend is built, and how. WHORL_CUDA = AUTO builds it where a compiler for it is,
# ON insists, OFF leaves it out. Sets whorl_cuda (ON or OFF) before the library is defined;
# whorl_add_cuda() then adds the backend to it.
set(WHORL_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is), ON or OFF")
set_property(CACHE WHORL_CUDA PROPERTY STRINGS AUTO ON OFF)
# Binaries for the chips there are, and PTX, which drivers of newer ones compile when they load it.
# 90a-real serves the H100 and H200 alone; PTX of 90a would serve nothing else, that of 90 does.
set(WHORL_CUDA_ARCHITECTURES 80-real 89-real 90a-real 100-real 120-real 90-virtual
    CACHE STRING "GPU architectures, as CMAKE_CUDA_ARCHITECTURES takes them")
option(WHORL_CUDA_LIBRARY "Build the CUDA backend as libwhorl_cuda.so, which is loaded at run time" OFF)
option(WHORL_CUDA_LINES "Name the lines of kernels for profilers and compute-sanitizer" OFF)

set(whorl_cuda OFF)
set(whorl_cuda_lack "")
if(WHORL_CUDA STREQUAL "AUTO" AND WHORL_SANITIZE)
  set(whorl_cuda_lack "not with sanitizers")
elseif(WHORL_CUDA)
  # CMake itself looks for nvcc on PATH only.
  find_program(WHORL_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(WHORL_NVCC)
  if(WHORL_NVCC AND NOT DEFINED ENV{CUDACXX} AND NOT CMAKE_CUDA_COMPILER)
    set(ENV{CUDACXX} "${WHORL_NVCC}")
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit QUIET)
  endif()
  if(NOT WHORL_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(whorl_cuda_lack "no nvcc on PATH or in /usr/local/cuda/bin")
  elseif(NOT CMAKE_CUDA_COMPILER)
    set(whorl_cuda_lack "${WHORL_NVCC} does not compile here; CMakeFiles/CMakeError.log says why")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12.8)
    set(whorl_cuda_lack "CUDA ${CUDAToolkit_VERSION} is there; 12.8 is the first for all chips")
  elseif(NOT TARGET CUDA::cudart_static)
    set(whorl_cuda_lack "${CMAKE_CUDA_COMPILER} is there, but no static CUDA runtime")
  else()
    set(whorl_cuda ON)
  endif()
else()
  set(whorl_cuda_lack "WHORL_CUDA is ${WHORL_CUDA}")
endif()

if(NOT whorl_cuda)
  if(WHORL_CUDA AND NOT WHORL_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "WHORL_CUDA is ${WHORL_CUDA}, but: ${whorl_cuda_lack}")
  endif()
  message(STATUS "CUDA backend: left out (${whorl_cuda_lack})")
else()
  set(CMAKE_CUDA_ARCHITECTURES ${WHORL_CUDA_ARCHITECTURES})
  # Of several architectures ccache compares the source of one, and takes objects whose code for the
  # others has changed since (seen with 4.7.5).
  list(LENGTH CMAKE_CUDA_ARCHITECTURES whorl_cuda_count)
  if(WHORL_CCACHE AND whorl_cuda_count EQUAL 1 AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${WHORL_CCACHE}")
  endif()
  enable_language(CUDA)
  string(REPLACE ";" " " whorl_cuda_list "${CMAKE_CUDA_ARCHITECTURES}")
  message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION} for "
                 "${whorl_cuda_list}")
endif()

# `target` is the library; the sources are all of src/backend/cuda.
function(whorl_add_cuda target)
  list(LENGTH CMAKE_CUDA_ARCHITECTURES count)
  if(count GREATER 1)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--threads=${count}>)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cu"
       "${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cpp")
  include(WhorlCudaInstances)
  list(APPEND sources ${whorl_cuda_instances})
  if(NOT WHORL_CUDA_LIBRARY)
    list(FILTER sources EXCLUDE REGEX "/cuda/library\\.cpp$")
    # No other source is told of CUDA, so that none is compiled again when CUDA comes or goes.
    set_source_files_properties("${PROJECT_SOURCE_DIR}/src/backend/devices.cpp"
                                PROPERTIES COMPILE_DEFINITIONS WHORL_CUDA=1)
  endif()
  target_sources(${target} PRIVATE ${sources})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM CUDAToolkit_INCLUDE_DIRS PREPEND -isystem OUTPUT_VARIABLE headers)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${headers}")
  # The target may be older than the language, whose defaults it then has not taken over; and CMake
  # 3.25 does not know that nvcc 13 speaks C++20.
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
                                             CUDA_RUNTIME_LIBRARY Static)
  # Host code between kernels makes tables of twiddle factors: contraction as in WhorlFlags.cmake.
  # Compressed, code is a third of its size; names of lines take as much again.
  target_compile_options(
    ${target}
    PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20
            -O3
            $<$<BOOL:${WHORL_CUDA_LINES}>:-lineinfo>
            --compress-mode=size
            --expt-relaxed-constexpr
            -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter,-Wno-unknown-pragmas,-fno-math-errno,-ffp-contract=off
            -Xcompiler=-fvisibility=hidden,-fvisibility-inlines-hidden>
            $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${WHORL_WERROR}>>:-Werror=all-warnings>)
endfunction()
