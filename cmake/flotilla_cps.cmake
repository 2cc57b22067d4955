# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Installs a description of the package in the Common Package Specification, for build tools other
# than CMake: https://cps-org.github.io/cps. All places are relative to the prefix, so an install tree
# can be moved. `for_development` is the component of the install rule.
foreach(dir LIBDIR INCLUDEDIR LIBEXECDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    message(STATUS "No flotilla.cps: CMAKE_INSTALL_${dir} is absolute, ${CMAKE_INSTALL_${dir}}")
    return()
  endif()
endforeach()
set(cps_dir "${CMAKE_INSTALL_LIBDIR}/cps/flotilla")  # where tools search
set(prefix "@prefix@")  # stays in the file: the specification's word for the prefix
configure_file("${CMAKE_CURRENT_LIST_DIR}/flotilla.cps.in" "${PROJECT_BINARY_DIR}/cmake/flotilla.cps.in" @ONLY)
# The names of the files are known only when the build files are written.
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/cmake/flotilla-$<CONFIG>.cps"
     INPUT "${PROJECT_BINARY_DIR}/cmake/flotilla.cps.in")
install(FILES "${PROJECT_BINARY_DIR}/cmake/flotilla-$<CONFIG>.cps" DESTINATION "${cps_dir}"
        RENAME flotilla.cps ${for_development})
unset(prefix)
