# SPDX-FileCopyrightText: The flotilla authors
# SPDX-License-Identifier: Apache-2.0

# flotilla_add_mpi(SOURCE): defines flotilla::mpi, a static library with the functions of <flotilla/c/mpi.h>.
# Each MPI has its own mpi.h, so the user's compiler compiles them from their source. Programs in C++ do not
# need them: they include <flotilla/mpi.hpp>.
include_guard(GLOBAL)

function(flotilla_add_mpi source)
  if(TARGET flotilla_mpi)
    return()
  endif()
  add_library(flotilla_mpi STATIC "${source}")
  set_target_properties(flotilla_mpi PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(flotilla_mpi PUBLIC flotilla::flotilla MPI::MPI_CXX)
  add_library(flotilla::mpi ALIAS flotilla_mpi)
endfunction()
