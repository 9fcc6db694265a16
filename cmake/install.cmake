# Programs, headers and the static library, laid out so that the program finds its worker beside it.
include(GNUInstallDirs)
install(TARGETS cupilot_cli cupilot_worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS cupilot ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/cupilot DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
