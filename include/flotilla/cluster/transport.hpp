// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How ranks exchange messages: a table of functions, so that one binary of flotilla serves every
/// MPI. <flotilla/mpi.hpp> fills it from the application's mpi.h, and
/// <flotilla/testing/loop_transport.hpp> puts many ranks into one process.

#include <cstddef>
#include <cstdint>

namespace flotilla {
inline namespace v0_1 {

/// Which threads may call the functions of a transport.
enum class transport_threads : std::uint8_t {
  main_only,   // only the thread that makes the cluster (MPI_THREAD_FUNNELED)
  serialized,  // any thread, one at a time (MPI_THREAD_SERIALIZED)
  multiple,    // any threads, also while the application calls MPI (MPI_THREAD_MULTIPLE)
};

/// A send or receive that has ended.
struct transport_event {
  int request = 0;        // what isend or irecv returned
  int source = 0;         // of a receive: the rank that sent the message
  std::size_t bytes = 0;  // of a receive: the length of the message
  int status = 0;         // 0: success; -1: the receive was cancelled; else see `describe`
};

/// The functions through which a cluster sends and receives. They have the meaning of the MPI
/// functions with these names, with MPI_BYTE, in a communicator that nothing else uses.
///
/// Requests are small numbers from 0. A number is used again only after its event was returned.
/// Messages have at most 2^30 bytes, and tags are from 0 to max_tag. No message is longer than the
/// receive that takes it: a cluster receives only what it was told the length of.
/// Threads   A cluster calls one function at a time.
/// Blocking  No function blocks, except `close`, which may wait for the other ranks.
/// Errors    Functions that return int return 0 or a positive error number, and throw nothing. A
///           call of isend or irecv that returns an error has begun nothing. `testsome` returns 0
///           if an event has an error; then its `source` and `bytes` mean nothing.
struct transport {
  static constexpr int any_source = -1;
  static constexpr int max_tag = 1 << 14;  // every MPI has at least 2^15 - 1

  /// The bytes of this structure in the program that filled it. New members go to the end.
  std::size_t size = sizeof(transport);
  void* self = nullptr;  // the first argument of all functions
  int rank = 0;
  int ranks = 1;
  int world_ranks = 1;  // of all processes that were started together
  int local_rank = 0;   // among the ranks of this machine
  int local_ranks = 1;
  transport_threads threads = transport_threads::serialized;
  char const* library = "";  // name and version, for error messages; valid until `close`

  /// Begins to send. `data` must exist until the event of the request.
  int (*isend)(void* self, void const* data, std::size_t bytes, int to, int tag,
               int* request) = nullptr;
  /// Begins to receive at most `bytes` bytes. `data` must exist until the event, or until `close`
  /// has returned. @param from  A rank, or any_source.
  int (*irecv)(void* self, void* data, std::size_t bytes, int from, int tag,
               int* request) = nullptr;
  /// Returns requests that have ended, at most `capacity` of them.
  int (*testsome)(void* self, transport_event* events, int capacity, int* count) = nullptr;
  /// Cancels a receive. Its event still comes, with the status -1 if nothing had arrived.
  int (*cancel)(void* self, int request) = nullptr;
  /// Writes the text of an error number, ended by a zero.
  void (*describe)(void* self, int status, char* text, std::size_t bytes) = nullptr;
  /// Frees everything, `self` too. Receives may be open, and are cancelled. Sends may be open only
  /// after an error. Their memory, and that of receives, must exist until the call returns.
  void (*close)(void* self) = nullptr;
};

}  // namespace v0_1
}  // namespace flotilla
