# find_package(whorl) and pkg-config for an installed prefix. A wheel carries the Python module only.
include(CMakePackageConfigHelpers)

set(whorl_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/whorl")

install(TARGETS whorl EXPORT whorlTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/whorl"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(EXPORT whorlTargets NAMESPACE whorl:: DESTINATION "${whorl_package_dir}"
        COMPONENT development)

configure_package_config_file(cmake/whorlConfig.cmake.in whorlConfig.cmake
                              INSTALL_DESTINATION "${whorl_package_dir}")
write_basic_package_version_file(whorlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/whorlConfig.cmake"
              "${PROJECT_BINARY_DIR}/whorlConfigVersion.cmake" cmake/WhorlDependencies.cmake
        DESTINATION "${whorl_package_dir}" COMPONENT development)

# The prefix is found from where the file lies, so that an installed tree can be moved.
file(RELATIVE_PATH whorl_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" whorl_pc_to_prefix "${whorl_pc_to_prefix}")
set(whorl_pc_libs "-pthread -lstdc++ -lm -ldl")
if(whorl_cuda)
  string(APPEND whorl_pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -ldl -lrt")
endif()
configure_file(cmake/whorl.pc.in whorl.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/whorl.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT development)
