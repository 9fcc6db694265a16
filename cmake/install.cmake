# What is installed, in three components: library (shared libraries and the worker they start), program, development.
set(CUPILOT_COMPONENTS library program development)
set(CUPILOT_PACKAGES libcupilot${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} cupilot libcupilot-dev)
install(TARGETS cupilot_shared EXPORT cupilot-core
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS cupilot_c EXPORT cupilot-c
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS cupilot_worker EXPORT cupilot-core RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cupilot COMPONENT library)
install(TARGETS cupilot EXPORT cupilot-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS cupilot_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(TARGETS cupilot_inject LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cupilot COMPONENT program)
install(DIRECTORY include/cupilot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN *.h*)

# Side by side, as the docs' links to the examples want it; share/doc is left out of many images.
set(shared ${CMAKE_INSTALL_DATADIR}/cupilot)
install(DIRECTORY docs DESTINATION ${shared} COMPONENT program FILES_MATCHING PATTERN *.md
  PATTERN results EXCLUDE PATTERN decisions EXCLUDE)
install(DIRECTORY examples DESTINATION ${shared} COMPONENT development USE_SOURCE_PERMISSIONS
  PATTERN CMakeLists.txt EXCLUDE PATTERN check EXCLUDE PATTERN installed EXCLUDE)
install(FILES examples/installed/CMakeLists.txt DESTINATION ${shared}/examples COMPONENT development)
install(PROGRAMS scripts/import-tuner DESTINATION ${shared}/scripts COMPONENT program)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cupilot COMPONENT program)

# find_package(cupilot 0.1 COMPONENTS core c static)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/cupilot)
foreach(export core c static)
  install(EXPORT cupilot-${export} NAMESPACE cupilot:: DESTINATION ${package_folder} COMPONENT development)
endforeach()
configure_package_config_file(cmake/package/cupilotConfig.cmake.in ${PROJECT_BINARY_DIR}/package/cupilotConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/cupilotConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/cupilotConfig.cmake ${PROJECT_BINARY_DIR}/package/cupilotConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)

file(RELATIVE_PATH CUPILOT_PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name cupilot cupilot-c)
  configure_file(cmake/package/${name}.pc.in ${PROJECT_BINARY_DIR}/package/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

foreach(component package IN ZIP_LISTS CUPILOT_COMPONENTS CUPILOT_PACKAGES)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${component})
  install(FILES NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
