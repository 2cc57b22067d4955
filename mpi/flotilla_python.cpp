// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Connects the Python package with an MPI. The package contains no MPI, so flotilla.Cluster compiles
// this file with the MPI of mpi4py (python/flotilla/_mpi.py).

#include <flotilla/mpi.hpp>  // first, because it keeps the bindings for C++ out of mpi.h

#include <cstddef>
#include <cstdio>
#include <exception>

// The extension module contains the library, and exports none of its names. So this file has the
// exceptions of flotilla::mpi for itself, and no exception may leave it.
flotilla::error::~error() = default;
flotilla::invalid_argument::~invalid_argument() = default;

/// Fills a transport over a duplicate of a communicator. Collective.
/// @param communicator  Its number in Fortran, which has the same type in every MPI.
/// @param text          Gets the text of an error, ended by a zero.
/// @return 0: success; 1: the communicator cannot be used; 2: a function of MPI has failed
extern "C" [[gnu::visibility("default")]] int flotilla_python_mpi(int communicator,
                                                                  flotilla::transport* made,
                                                                  char* text,
                                                                  std::size_t bytes) noexcept {
  try {
    *made = flotilla::mpi(MPI_Comm_f2c(communicator));
    return 0;
  } catch (flotilla::invalid_argument const& why) {
    std::snprintf(text, bytes, "%s", why.what());
    return 1;
  } catch (std::exception const& why) {
    std::snprintf(text, bytes, "%s", why.what());
    return 2;
  }
}
