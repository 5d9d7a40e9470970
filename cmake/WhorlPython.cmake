# The extension module whorl._core.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE
  OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB whorl_python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/*.cpp")
if(NOT whorl_python_sources)
  message(FATAL_ERROR "python/src holds no sources: there is no Python module to build")
endif()

nanobind_add_module(_core NB_STATIC STABLE_ABI ${whorl_python_sources})
# Warnings are for Whorl's own code.
target_include_directories(_core SYSTEM PRIVATE "${NB_DIR}/include" ${Python_INCLUDE_DIRS})
whorl_target_flags(_core)
target_include_directories(_core PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                         "${PROJECT_SOURCE_DIR}/python/src")
target_link_libraries(_core PRIVATE whorl PkgConfig::whorl_sodium Threads::Threads)
install(TARGETS _core LIBRARY DESTINATION whorl COMPONENT python)
