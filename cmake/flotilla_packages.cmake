# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# `cpack` in the build folder makes Debian packages. It needs the programs `file` and
# `dpkg-shlibdeps`.
#   libflotilla<version>  the shared library
#   libflotilla-dev       the headers, the static library, the CMake package, the Fortran module, the
#                         twin maker and the drop-in libcuda
#   flotilla-tools        the programs `flotilla` and `flotilla_bench`
# With -D CMAKE_INSTALL_PREFIX=/usr, the libraries go into the folder of the architecture, as Debian
# wants it.
set(so_version "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")  # that of the target flotilla
set(package_version "${PROJECT_VERSION}-1")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME flotilla)
set(CPACK_PACKAGE_VENDOR "The flotilla authors")
set(CPACK_PACKAGE_CONTACT "The flotilla authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)  # a package for each component
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "libflotilla${so_version}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "This package has the shared library.")
# CPack could write `shlibs` itself, but it would also write one for the drop-in libcuda.
set(control "${PROJECT_BINARY_DIR}/cmake/debian")
file(WRITE "${control}/shlibs"
     "libflotilla ${so_version} libflotilla${so_version} (>= ${package_version})\n")
file(WRITE "${control}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${control}/shlibs;${control}/triggers")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libflotilla-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Programs that use the static library link to oneTBB and Boost.Context.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libflotilla${so_version} (= ${package_version}), libtbb-dev, libboost-context-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "This package has the headers for C++ and C, the Fortran module, the static library, and the CMake package.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME flotilla-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libflotilla${so_version} (= ${package_version})")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
    "This package has the program flotilla, which shows devices, and the benchmarks.")

# Each package has its own copy of the license, because several versions of the library can be
# installed at once. `cmake --install` does not install these copies.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(documents "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${documents}" RENAME copyright
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/NOTICE" DESTINATION "${documents}"
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

# An install rule without one of these components would be missing in all packages. The web site of the
# manual is in none, because the build makes it only if somebody asks for it.
get_cmake_property(components COMPONENTS)
list(REMOVE_ITEM components ${CPACK_COMPONENTS_ALL} licenses manual)
if(components)
  message(FATAL_ERROR "Install rules have the components ${components}, of which there is no package")
endif()
include(CPack)
