// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of <flotilla/c/mpi.h>. A program in C or Fortran compiles this file with its own
// MPI. docs/manual/recipes/mpi.md has the commands.

#include <flotilla/mpi.hpp>  // first, because it keeps the bindings for C++ out of mpi.h

#include <bit>
#include <exception>

#include <flotilla/c/mpi.h>
#include <flotilla/detail/last_error.hpp>

namespace {

/// @param communicator  Returns the communicator. Called only while MPI can be used.
template <class Communicator>
flotilla_status make_transport(Communicator const& communicator,
                               flotilla_transport* made) noexcept {
  try {
    if (made == nullptr) { throw flotilla::invalid_argument("flotilla_mpi: 'made' is null"); }
    int is_initialized = 0, is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    bool const can_be_used = is_initialized != 0 && is_finalized == 0;
    flotilla::transport const via = flotilla::mpi(can_be_used ? communicator() : MPI_COMM_NULL);
    static_assert(sizeof via == sizeof *made);
    *made = std::bit_cast<flotilla_transport>(via);
    return FLOTILLA_SUCCESS;
  } catch (...) { return flotilla::detail::store_last_error(std::current_exception()); }
}

}  // namespace

flotilla_status flotilla_mpi(MPI_Comm communicator, flotilla_transport* made) {
  return make_transport([&] { return communicator; }, made);
}

flotilla_status flotilla_mpi_f(MPI_Fint const* communicator, flotilla_transport* made) {
  return make_transport(
      [&] { return communicator == nullptr ? MPI_COMM_NULL : MPI_Comm_f2c(*communicator); }, made);
}
