// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of <flotilla/c/mpi.h>. A program in C or Fortran compiles this file with its own
// MPI. docs/manual/recipes/mpi.md has the commands.

#include <flotilla/mpi.hpp>  // first, because it keeps the bindings for C++ out of mpi.h

#include <bit>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>

#include <flotilla/c/mpi.h>
#include <flotilla/detail/last_error.hpp>

namespace {

/// Calls `function` with the communicator.
/// @param communicator  Returns it. Called only while MPI can be used.
template <class Communicator, class Function>
flotilla_status call(Communicator const& communicator, void const* made, char const* made_name,
                     Function const& function) noexcept {
  try {
    if (made == nullptr) {
      throw flotilla::invalid_argument(std::string{"flotilla_mpi: '"} + made_name + "' is null");
    }
    int is_initialized = 0, is_finalized = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    bool const can_be_used = is_initialized != 0 && is_finalized == 0;
    function(can_be_used ? communicator() : MPI_COMM_NULL);
    return FLOTILLA_SUCCESS;
  } catch (...) { return flotilla::detail::store_last_error(std::current_exception()); }
}

template <class Communicator>
flotilla_status make_transport(Communicator const& communicator,
                               flotilla_transport* made) noexcept {
  return call(communicator, made, "made", [made](MPI_Comm given) {
    flotilla::transport const via = flotilla::mpi(given);
    static_assert(sizeof via == sizeof *made);
    *made = std::bit_cast<flotilla_transport>(via);
  });
}

template <class Communicator>
flotilla_status share(Communicator const& communicator, char* devices, std::size_t bytes) noexcept {
  return call(communicator, devices, "devices", [&](MPI_Comm given) {
    std::string const text = flotilla::share_devices(given);
    if (text.size() >= bytes) {
      throw flotilla::invalid_argument("flotilla_mpi_share_devices: the text needs " +
                                       std::to_string(text.size() + 1) + " bytes, but 'bytes' is " +
                                       std::to_string(bytes));
    }
    std::memcpy(devices, text.c_str(), text.size() + 1);
  });
}

auto from_c(MPI_Comm communicator) {
  return [communicator] { return communicator; };
}

auto from_fortran(MPI_Fint const* communicator) {
  return [communicator] {
    return communicator == nullptr ? MPI_COMM_NULL : MPI_Comm_f2c(*communicator);
  };
}

}  // namespace

flotilla_status flotilla_mpi(MPI_Comm communicator, flotilla_transport* made) {
  return make_transport(from_c(communicator), made);
}

flotilla_status flotilla_mpi_f(MPI_Fint const* communicator, flotilla_transport* made) {
  return make_transport(from_fortran(communicator), made);
}

flotilla_status flotilla_mpi_share_devices(MPI_Comm communicator, char* devices, size_t bytes) {
  return share(from_c(communicator), devices, bytes);
}

flotilla_status flotilla_mpi_share_devices_f(MPI_Fint const* communicator, char* devices,
                                             size_t bytes) {
  return share(from_fortran(communicator), devices, bytes);
}
