# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Installs the headers, both libraries, their CMake package and pkg-config file, the tools, the
# drop-in and the licenses. flotilla_packages.cmake makes a package of each of the components
# `library`, `development` and `tools`, and adds the licenses to each package.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/flotilla")
set(for_development COMPONENT development)
set(headers "")
foreach(set HEADERS native senders mpi kernel_language)
  list(APPEND headers FILE_SET ${set} ${for_development})
endforeach()
install(TARGETS flotilla EXPORT flotilla-targets
        LIBRARY COMPONENT library NAMELINK_COMPONENT development ${headers})
# The static library has its own export set, because only a program that links to it needs to find
# oneTBB and Boost.Context.
install(TARGETS flotilla_static EXPORT flotilla-static-targets ARCHIVE ${for_development} ${headers})
# flotilla_add_kernels() runs this program.
install(TARGETS flotilla_make_twins EXPORT flotilla-targets
        RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/flotilla" ${for_development})
foreach(set flotilla-targets flotilla-static-targets)
  install(EXPORT ${set} NAMESPACE flotilla:: DESTINATION "${package_dir}" ${for_development})
endforeach()
# Isolated devices need it, so it comes with the library.
install(TARGETS flotilla_worker EXPORT flotilla-targets
        RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/flotilla" COMPONENT library)
if(TARGET flotilla_tool)
  install(TARGETS flotilla_tool RUNTIME COMPONENT tools)
endif()
install(TARGETS flotilla_libcuda
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/flotilla/cpu" ${for_development})

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/flotilla-config.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/flotilla-config.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/cmake/flotilla-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/flotilla-config.cmake"
              "${PROJECT_BINARY_DIR}/cmake/flotilla-config-version.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/flotilla_add_kernels.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/flotilla_add_mpi.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/flotilla_cuda.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/flotilla_fortran.cmake"
        DESTINATION "${package_dir}" ${for_development})
install(FILES "${PROJECT_SOURCE_DIR}/fortran/flotilla.f90"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/flotilla/fortran" ${for_development})
install(FILES "${PROJECT_SOURCE_DIR}/mpi/flotilla_mpi.cpp"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/flotilla/mpi" ${for_development})
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/NOTICE"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT licenses)
install(DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/kernels" "${CMAKE_CURRENT_LIST_DIR}/cuda_wheels" DESTINATION "${package_dir}" ${for_development})

# The pkg-config files compute the prefix from their own path, so an install tree can be moved.
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
foreach(package flotilla flotilla-shared)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${package}.pc.in" "${PROJECT_BINARY_DIR}/cmake/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/cmake/${package}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" ${for_development})
endforeach()
