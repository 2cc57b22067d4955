# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# Generates a C file for the drop-in, with every name of the driver API:
#
#   cmake -D NAMES=dropin_names.txt -D OUTPUT=dropin_names.c -P dropin_generate.cmake
#
# Each name becomes a weak function that returns CUDA_ERROR_NOT_SUPPORTED. The function does not read its
# arguments, so its signature does not matter. Functions that the CPU driver implements override the weak
# functions at link time. The file also contains a table of all names, for cuGetProcAddress.

if(NOT NAMES OR NOT OUTPUT)
  message(FATAL_ERROR "dropin_generate.cmake needs -D NAMES=<file> and -D OUTPUT=<file>")
endif()

file(STRINGS "${NAMES}" names REGEX "^cu[A-Za-z0-9_]+$")
list(LENGTH names count)
if(count EQUAL 0)
  message(FATAL_ERROR "dropin_generate.cmake: no names in ${NAMES}")
endif()

set(functions "")
set(table "")
foreach(name IN LISTS names)
  string(APPEND functions "FLOTILLA_UNSUPPORTED(${name})\n")
  string(APPEND table "  {\"${name}\", (void (*)(void))&${name}},\n")
endforeach()

set(text "/* Made by dropin_generate.cmake. */
#include <stddef.h>

enum { not_supported = 801 }; /* CUDA_ERROR_NOT_SUPPORTED */

#define FLOTILLA_UNSUPPORTED(name) \\
  __attribute__((weak, visibility(\"default\"))) int name(void) { return not_supported; }

${functions}
struct flotilla_dropin_symbol {
  char const* name;
  void (*address)(void);
};

struct flotilla_dropin_symbol const flotilla_dropin_symbols[] = {
${table}};
size_t const flotilla_dropin_symbol_count = ${count};
")

# Write the file only if its text has changed. Otherwise every run of CMake would cause a recompilation.
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
else()
  set(before "")
endif()
if(NOT before STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
