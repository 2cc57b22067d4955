# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# flotilla_add_fortran(SOURCE): defines flotilla::fortran, a static library with the Fortran module
# `flotilla`. Only the compiler that wrote a module can read it, so the user's compiler compiles the
# module from its source.
include_guard(GLOBAL)

function(flotilla_add_fortran source)
  if(TARGET flotilla_fortran)
    return()
  endif()
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/flotilla_fortran")
  add_library(flotilla_fortran STATIC "${source}")
  set_target_properties(flotilla_fortran PROPERTIES
    Fortran_MODULE_DIRECTORY "${modules}" POSITION_INDEPENDENT_CODE ON)
  target_include_directories(flotilla_fortran INTERFACE "${modules}")
  target_link_libraries(flotilla_fortran PUBLIC flotilla::flotilla)
  add_library(flotilla::fortran ALIAS flotilla_fortran)
endfunction()
