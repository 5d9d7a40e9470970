# The extension modules whorl._server and whorl._client, each of a folder of python/src. Both link
# the static library, of which the linker takes the objects that are needed: _server names nothing
# of key generation and decryption, and so holds none of it.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
  OUTPUT_STRIP_TRAILING_WHITESPACE
  OUTPUT_VARIABLE whorl_nanobind COMMAND_ERROR_IS_FATAL ANY)
# What the build folder remembers of another Python: headers, names of modules, where nanobind is.
if(NOT "${nanobind_DIR}" STREQUAL "${whorl_nanobind}")
  get_cmake_property(whorl_remembered CACHE_VARIABLES)
  list(FILTER whorl_remembered INCLUDE REGEX "^(_Python|NB)_")
  foreach(name IN LISTS whorl_remembered)
    unset(${name} CACHE)
  endforeach()
  set(nanobind_DIR "${whorl_nanobind}" CACHE PATH "Where nanobind is" FORCE)
endif()
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
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

# The package as far as modules and their stubs are made in it: stubs say to type checkers what a
# module has, and are made by importing it. In wheels they come with the front, as the applications.
set(whorl_package "${PROJECT_BINARY_DIR}/python/whorl")
file(WRITE "${whorl_package}/__init__.py" "")
configure_file("${PROJECT_SOURCE_DIR}/python/whorl/errors.py" "${whorl_package}/errors.py" COPYONLY)

# whorl_add_stubs(NAME OTHER SUBMODULE...): of a module that imports the other one.
function(whorl_add_stubs name other)
  list(TRANSFORM ARGN REPLACE "(.+)" "${whorl_package}/${name}/\\1.pyi" OUTPUT_VARIABLE stubs)
  # Private are names as not_, too.
  nanobind_add_stub(
    ${name}_stubs RECURSIVE INCLUDE_PRIVATE MODULE whorl.${name}
    OUTPUT "${whorl_package}/${name}/__init__.pyi" ${stubs} OUTPUT_PATH "${whorl_package}"
    PYTHON_PATH "${PROJECT_BINARY_DIR}/python"
    DEPENDS ${name} ${other} "${PROJECT_SOURCE_DIR}/python/whorl/errors.py")
  if(WHORL_PYTHON_PACKAGE STREQUAL "whorl")
    install(DIRECTORY "${whorl_package}/${name}" DESTINATION whorl COMPONENT python)
  endif()
endfunction()

foreach(part server client)
  file(GLOB whorl_part_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/python/src/${part}/*.cpp")
  if(NOT whorl_part_sources)
    message(FATAL_ERROR "python/src/${part} holds no sources: there is no module to build")
  endif()
  whorl_add_python_module(_${part} ${whorl_part_sources})
  set_target_properties(_${part} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${whorl_package}")
  install(TARGETS _${part} LIBRARY DESTINATION "${WHORL_PYTHON_PACKAGE}" COMPONENT python)
endforeach()
whorl_add_stubs(_server "" bgv binfhe bridges ckks networks rtl)
whorl_add_stubs(_client _server bgv binfhe bridges ckks)

# The command `whorl demo` runs the applications, as processes.
if(WHORL_PYTHON_PACKAGE STREQUAL "whorl")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/apps/" DESTINATION whorl/_apps COMPONENT python
          PATTERN __pycache__ EXCLUDE)
endif()
