# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Typed kernel handles: functions of scan_kernels.cmake.

# Compiles `code` with the host compiler, and sets `result` to whether this works.
function(_flotilla_host_compiles result code)
  set(file "${WORK}/signatures.cpp")
  file(WRITE "${file}" "${code}")
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env LC_ALL=C "${COMPILER}" "@${WORK}/host.rsp" -fsyntax-only -w "${file}"
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  if(status EQUAL 0)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
  set(${result}_output "${output}" PARENT_SCOPE)
endfunction()

# Writes the header of an image, and returns two lists of kernels: those whose parameter types the
# host compiler understands, and the others.
#
# The variable `parameters_of_<kernel>` holds the text between the parentheses of a kernel. The
# header contains this text as a part of a function type, so the compiler itself reads the types.
function(flotilla_write_header kernels typed untyped)
  file(READ "${WORK}/types.txt" types)  # lines with #include, from the option TYPES
  # flotilla's own types of parameters need no TYPES.
  string(PREPEND types "#include <flotilla/data/view.hpp>\n"
                       "#include <flotilla/kernel/task_status.hpp>\n")
  set(begin "#include <cstddef>\n#include <cstdint>\n${types}\n")
  _flotilla_host_compiles(works "${begin}")
  if(NOT works)
    message(FATAL_ERROR "flotilla_add_kernels(${TARGET}): the host compiler cannot compile the "
            "headers of TYPES:\n${works_output}")
  endif()
  set(all "${begin}")
  foreach(kernel IN LISTS kernels)
    string(APPEND all "using of_${kernel} = void(${parameters_of_${kernel}});\n")
  endforeach()
  _flotilla_host_compiles(works "${all}")
  set(good "${kernels}")
  set(bad "")
  if(NOT works)
    set(good "")
    foreach(kernel IN LISTS kernels)
      _flotilla_host_compiles(works
        "${begin}using of_${kernel} = void(${parameters_of_${kernel}});\n")
      if(works)
        list(APPEND good "${kernel}")
      else()
        list(APPEND bad "${kernel}")
        string(REGEX MATCH "error: [^\n]*" why_${kernel} "${works_output}")
      endif()
    endforeach()
  endif()

  set(members "")
  foreach(kernel IN LISTS good)
    string(APPEND members "  static constexpr flotilla::kernel_handle<void("
           "${parameters_of_${kernel}})> ${kernel}{\"${kernel}\"};\n")
  endforeach()
  foreach(kernel IN LISTS bad)
    string(APPEND members
      "  // ${kernel}(${parameters_of_${kernel}}):\n"
      "  // ${why_${kernel}}\n"
      "  // Write the type with its namespace, or name the header that defines it with the option\n"
      "  // TYPES of flotilla_add_kernels.\n"
      "  static constexpr flotilla::kernel_without_handle ${kernel}{\"${kernel}\"};\n")
  endforeach()
  set(devices "GPUs and CPU devices")
  if(GPU_ONLY)
    set(devices "GPUs only")
  endif()
  file(CONFIGURE OUTPUT "${WORK}/include/${NAME}.hpp" @ONLY CONTENT [[
#pragma once
// Written by flotilla_add_kernels(@TARGET@).
#include <cstddef>
#include <cstdint>
#include <flotilla/kernel/image.hpp>
#include <flotilla/kernel/kernel_handle.hpp>
@types@
/// The kernels of @TARGET@, for @devices@. The members are handles for program::kernel.
struct @NAME@_image : flotilla::image {
@members@};

extern __attribute__((visibility("default"))) const @NAME@_image @NAME@;
]])
  file(CONFIGURE OUTPUT "${WORK}/include/${NAME}.h" @ONLY CONTENT [[
/* Written by flotilla_add_kernels(@TARGET@). */
#ifndef FLOTILLA_KERNELS_@NAME@_H
#define FLOTILLA_KERNELS_@NAME@_H
#include <flotilla/c/program.h>

FLOTILLA_C_BEGIN
/** The kernels of @TARGET@, for @devices@. */
extern __attribute__((visibility("default"))) flotilla_image const @NAME@_for_c;
/** Returns the address of @NAME@_for_c, for languages that cannot name a variable of C. */
__attribute__((visibility("default"))) flotilla_image const* @NAME@_for_fortran(void);
FLOTILLA_C_END

#endif
]])
  set(${typed} "${good}" PARENT_SCOPE)
  set(${untyped} "${bad}" PARENT_SCOPE)
endfunction()

# Returns code that does not compile if a handle has other types than its kernel. `kernels` are the
# typed kernels, and `qualified_<kernel>` is the name of each with its namespaces.
function(flotilla_check_handles result kernels)
  file(READ "${WORK}/types.txt" types)
  set(code "")
  if(kernels)
    set(code "${types}\n#include <type_traits>\n")
  endif()
  foreach(kernel IN LISTS kernels)
    string(APPEND code
      "static_assert(std::is_same<decltype(${qualified_${kernel}}), "
      "void(${parameters_of_${kernel}})>::value,\n"
      "  \"the headers of TYPES give the parameters of ${kernel} other types than its source\");\n")
  endforeach()
  set(${result} "${code}" PARENT_SCOPE)
endfunction()
