# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Builds the CPU driver as a libcuda.so.1 that any program can load. It compiles the driver's sources
# a second time, and a generated C file with every name that the toolkit's stub exports.
set(dropin_names "${CMAKE_CURRENT_SOURCE_DIR}/cpu_driver/api/dropin_names.txt")
set(dropin_generate "${CMAKE_CURRENT_SOURCE_DIR}/cpu_driver/api/dropin_generate.cmake")
set(dropin_source "${CMAKE_CURRENT_BINARY_DIR}/dropin_names.c")
add_custom_command(
  OUTPUT "${dropin_source}"
  COMMAND "${CMAKE_COMMAND}" -D "NAMES=${dropin_names}" -D "OUTPUT=${dropin_source}"
          -P "${dropin_generate}"
  DEPENDS "${dropin_names}" "${dropin_generate}" "${CMAKE_CURRENT_SOURCE_DIR}/base/driver_entries.inc"
  COMMENT "Generating the names of the drop-in libcuda.so.1"
  VERBATIM)

file(GLOB_RECURSE dropin_driver_sources CONFIGURE_DEPENDS cpu_driver/*.cpp)
file(GLOB dropin_base_sources CONFIGURE_DEPENDS base/*.cpp)
add_library(flotilla_libcuda MODULE
  ${dropin_driver_sources} ${dropin_base_sources} "${dropin_source}")
flotilla_target(flotilla_libcuda)
flotilla_compile_together(flotilla_libcuda)
target_compile_definitions(flotilla_libcuda PRIVATE FLOTILLA_CPU_DROPIN)
target_include_directories(flotilla_libcuda PRIVATE ${header_dirs} "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(flotilla_libcuda SYSTEM PRIVATE "${FLOTILLA_CUDA_INCLUDE_DIR}")
target_link_libraries(flotilla_libcuda PRIVATE
  TBB::tbb Boost::headers Boost::context Threads::Threads ${CMAKE_DL_LIBS})
# Exports only the names of the driver API and the identifying symbol, but no template instances of
# the C++ library.
set(dropin_exports "${CMAKE_CURRENT_SOURCE_DIR}/dropin.map")
target_link_options(flotilla_libcuda PRIVATE
  -Wl,--no-undefined -Wl,-soname,libcuda.so.1 "-Wl,--version-script=${dropin_exports}")
set_target_properties(flotilla_libcuda PROPERTIES
  PREFIX lib OUTPUT_NAME cuda SUFFIX .so.1 LINK_DEPENDS "${dropin_exports}"
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/cpu")
