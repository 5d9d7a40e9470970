# One target a layer: whorl_math, whorl_ring, …, each of which sees the headers of its own layer and of
# those before it, public ones too, and no others. A step back does not compile.
set(whorl_layers math ring backend run lattice schemes circuits bridges networks io)

# Public headers that belong to no layer, and what each layer adds to them.
set(whorl_public_base
    common.h counters.h device_library.h devices.h error.h ring_costs.h ring_keys.h rows.h rtl.h
    session.h version.h word_array.h)
set(whorl_public_schemes bgv bgv.h binfhe binfhe.h ckks ckks.h ring_parameters.h ring_server.h
                         secret_key.h)
set(whorl_public_circuits circuits)
set(whorl_public_bridges bridges)
set(whorl_public_networks networks)
set(whorl_public_io io.h io_secret.h)

# The view of a public header. Whorl is compiled with hidden visibility; a shared library gives out
# what the public headers declare, so there the view declares all of it visible.
function(whorl_view_public view header)
  set(to "${PROJECT_SOURCE_DIR}/include/whorl/${header}")
  # Of a build folder that was configured for the other kind of library.
  if(IS_SYMLINK "${view}/whorl/${header}" AND BUILD_SHARED_LIBS)
    file(REMOVE "${view}/whorl/${header}")
  elseif(NOT IS_SYMLINK "${view}/whorl/${header}" AND NOT BUILD_SHARED_LIBS)
    file(REMOVE_RECURSE "${view}/whorl/${header}")
  endif()
  if(NOT BUILD_SHARED_LIBS)
    file(CREATE_LINK "${to}" "${view}/whorl/${header}" SYMBOLIC)
  elseif(IS_DIRECTORY "${to}")
    file(GLOB inside RELATIVE "${PROJECT_SOURCE_DIR}/include/whorl" CONFIGURE_DEPENDS "${to}/*")
    foreach(each IN LISTS inside)
      whorl_view_public("${view}" "${each}")
    endforeach()
  else()
    file(CONFIGURE OUTPUT "${view}/whorl/${header}" @ONLY
         CONTENT "#pragma GCC visibility push(default)
#include \"${to}\"
#pragma GCC visibility pop
")
  endif()
endfunction()

set_source_files_properties("${PROJECT_SOURCE_DIR}/src/backend/version.cpp"
                            PROPERTIES COMPILE_DEFINITIONS "WHORL_VERSION=\"${PROJECT_VERSION}\"")

set(whorl_built_layers "")
set(seen "")
set(public ${whorl_public_base})
foreach(layer IN LISTS whorl_layers)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${layer}/*.cpp")
  # What needs CUDA's headers comes with whorl_add_cuda().
  list(FILTER sources EXCLUDE REGEX "/src/backend/cuda/")
  if(NOT sources)
    continue()
  endif()
  list(APPEND seen ${layer})
  list(APPEND public ${whorl_public_${layer}})
  # A folder with links to what the layer may include.
  set(view "${PROJECT_BINARY_DIR}/layers/${layer}")
  file(MAKE_DIRECTORY "${view}/whorl")
  foreach(visible IN LISTS seen)
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${visible}" "${view}/${visible}" SYMBOLIC)
  endforeach()
  foreach(visible IN LISTS public)
    whorl_view_public("${view}" "${visible}")
  endforeach()

  add_library(whorl_${layer} OBJECT ${sources})
  whorl_target_flags(whorl_${layer})
  set_target_properties(whorl_${layer} PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON)
  target_include_directories(whorl_${layer} PRIVATE "${view}")
  target_link_libraries(whorl_${layer} PRIVATE PkgConfig::whorl_hwy PkgConfig::whorl_sodium
                                               Threads::Threads)
  list(APPEND whorl_built_layers ${layer})
endforeach()

# What a library of devices and who loads it must have in common: C++ types go across.
file(GLOB whorl_shared_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/backend/contract/*.h"
     "${PROJECT_SOURCE_DIR}/src/math/*.h" "${PROJECT_SOURCE_DIR}/src/ring/*.h"
     "${PROJECT_SOURCE_DIR}/include/whorl/*.h")
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
                                                             ${whorl_shared_headers})
set(whorl_digests "")
foreach(header IN LISTS whorl_shared_headers)
  file(SHA256 "${header}" digest)
  string(APPEND whorl_digests ${digest})
endforeach()
string(SHA256 whorl_digest "${whorl_digests}")
string(SUBSTRING "${whorl_digest}" 0 12 whorl_digest)
set(whorl_device_library_version "${PROJECT_VERSION} (${whorl_digest})")
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/src/backend/device_library.cpp"
  "${PROJECT_SOURCE_DIR}/src/backend/cuda/library.cpp"
  PROPERTIES COMPILE_DEFINITIONS
             "WHORL_DEVICE_LIBRARY_VERSION=\"${whorl_device_library_version}\"")

if(whorl_cuda AND NOT WHORL_CUDA_LIBRARY)
  whorl_add_cuda(whorl_backend)
elseif(whorl_cuda)
  # The rest is built as without CUDA.
  set(whorl_cuda OFF)
  add_library(whorl_cuda MODULE)
  foreach(layer IN ITEMS math ring backend)
    target_sources(whorl_cuda PRIVATE $<TARGET_OBJECTS:whorl_${layer}>)
  endforeach()
  whorl_add_cuda(whorl_cuda)
  whorl_target_flags(whorl_cuda)
  set_target_properties(whorl_cuda PROPERTIES DEFINE_SYMBOL "") # the same objects as without
  target_include_directories(whorl_cuda PRIVATE "${PROJECT_BINARY_DIR}/layers/backend")
  target_link_libraries(whorl_cuda PRIVATE PkgConfig::whorl_hwy PkgConfig::whorl_sodium
                                           Threads::Threads ${CMAKE_DL_LIBS} $<LINK_ONLY:CUDA::cudart_static>)
  set(whorl_map "${PROJECT_SOURCE_DIR}/cmake/whorl_cuda.map")
  set_target_properties(whorl_cuda PROPERTIES LINK_DEPENDS "${whorl_map}")
  target_link_options(whorl_cuda PRIVATE -Wl,--no-undefined -Wl,--gc-sections
                                         "-Wl,--version-script=${whorl_map}")
  install(TARGETS whorl_cuda LIBRARY DESTINATION whorl_cuda13 COMPONENT cuda13)
endif()
