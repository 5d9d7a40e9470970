# The installed package, as a stranger's project sees it: found by CMake and by pkg-config.
set(consumer_flags "")
if(WHORL_SANITIZE)
  set(consumer_flags "-fsanitize=${WHORL_SANITIZE}")
endif()
set(consumer_source "${CMAKE_CURRENT_LIST_DIR}")
set(consumer_build "${CMAKE_CURRENT_BINARY_DIR}/consumer")
set(staged_prefix "${CMAKE_CURRENT_BINARY_DIR}/staged")
add_test(NAME consumer.install
         COMMAND ${CMAKE_COMMAND} --install "${PROJECT_BINARY_DIR}" --prefix "${staged_prefix}"
                 --component development --config $<CONFIG>)
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP staged_install)
add_test(
  NAME consumer.build_and_run
  COMMAND
    ${CMAKE_CTEST_COMMAND} --build-and-test "${consumer_source}" "${consumer_build}"
    --build-generator "${CMAKE_GENERATOR}" --build-noclean --build-options
    "-DCMAKE_PREFIX_PATH=${staged_prefix}" "-DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}"
    -DCMAKE_BUILD_TYPE=$<CONFIG> "-DCMAKE_CXX_FLAGS=${consumer_flags}" --test-command consumer)
add_test(
  NAME consumer.pkg_config
  COMMAND
    "${consumer_source}/pkg_config.sh" "${staged_prefix}/${CMAKE_INSTALL_LIBDIR}"
    "${CMAKE_CURRENT_BINARY_DIR}/consumer_pkg_config" "${CMAKE_CXX_COMPILER}" ${consumer_flags})
set_tests_properties(consumer.build_and_run consumer.pkg_config
                     PROPERTIES FIXTURES_REQUIRED staged_install TIMEOUT 300)
if(BUILD_SHARED_LIBS)
  add_test(NAME consumer.shared_library
           COMMAND "${consumer_source}/shared_library.sh"
                   "${staged_prefix}/${CMAKE_INSTALL_LIBDIR}"
                   "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  set_tests_properties(consumer.shared_library PROPERTIES FIXTURES_REQUIRED staged_install)
endif()
