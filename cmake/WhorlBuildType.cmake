# An unset build type would mean no optimisation, which makes a bootstrap ten times slower.
get_property(whorl_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT whorl_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(WHORL_CCACHE ccache)
if(WHORL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WHORL_CCACHE}" CACHE STRING "Compiler launcher" FORCE)
endif()
