# find_package(whorl) for an installed prefix. A wheel carries the Python module only.
include(CMakePackageConfigHelpers)

set(whorl_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/whorl")

install(TARGETS whorl EXPORT whorlTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
                                                  COMPONENT development)
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
