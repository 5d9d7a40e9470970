# The extension modules whorl._server and whorl._client, each of a folder of python/src. Both link
# the static library, of which the linker takes the objects that are needed: _server names nothing
# of key generation and decryption, and so holds none of it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE
  OUTPUT_VARIABLE whorl_nanobind COMMAND_ERROR_IS_FATAL ANY)
# Of this Python, not of the one that the build folder was configured for before.
set(nanobind_DIR "${whorl_nanobind}" CACHE PATH "Where nanobind is" FORCE)
find_package(nanobind CONFIG REQUIRED)

# whorl_add_python_module(NAME SOURCE...): a module whose classes other modules of Whorl's share.
function(whorl_add_python_module name)
  nanobind_add_module(${name} NB_STATIC STABLE_ABI NB_DOMAIN whorl ${ARGN})
  # Warnings are for Whorl's own code.
  target_include_directories(${name} SYSTEM PRIVATE "${NB_DIR}/include" ${Python_INCLUDE_DIRS})
  whorl_target_flags(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/python/src")
  target_link_libraries(${name} PRIVATE whorl_inside PkgConfig::whorl_sodium Threads::Threads)
endfunction()

foreach(part server client)
  file(GLOB whorl_part_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/${part}/*.cpp")
  if(NOT whorl_part_sources)
    message(FATAL_ERROR "python/src/${part} holds no sources: there is no module to build")
  endif()
  whorl_add_python_module(_${part} ${whorl_part_sources})
  install(TARGETS _${part} LIBRARY DESTINATION whorl COMPONENT python)
endforeach()
