// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The functions of a transport over MPI, for <flotilla/mpi.hpp>.

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <flotilla/cluster/transport.hpp>
#include <flotilla/detail/mpi_requests.hpp>
#include <flotilla/error/error.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// Writes the text of an error of MPI in one line, ended by a zero.
inline void describe_mpi(int status, char* text, std::size_t bytes) noexcept {
  if (bytes == 0) { return; }
  char said[MPI_MAX_ERROR_STRING + 1] = "";
  char const* found = "an unknown error of MPI";
  int length = 0;
  if (status == -1) {
    found = "the receive was cancelled";
  } else if (status >= 0 && status <= MPI_ERR_LASTCODE) {  // else Open MPI ends the program
    if (MPI_Error_string(status, said, &length) == MPI_SUCCESS) { found = said; }
  }
  std::size_t const kept = std::min(std::strlen(found), bytes - 1);
  std::replace_copy(found, found + kept, text, '\n', ' ');  // MPICH adds a stack of calls
  text[kept] = '\0';
}

/// @throws error  The call has failed.
inline void check_mpi(int status, char const* call) {
  if (status == MPI_SUCCESS) { return; }
  char text[MPI_MAX_ERROR_STRING + 1];
  describe_mpi(status, text, sizeof text);
  throw error(std::string{"mpi: "} + call + " failed: " + text);
}

/// What `transport::self` points to: the communicator of one cluster.
class mpi_link {
 public:
  /// Collective.
  explicit mpi_link(MPI_Comm given) {
    // MPI_Comm_dup may copy hints, such as that nobody receives from any rank.
    check_mpi(MPI_Comm_dup_with_info(given, MPI_INFO_NULL, &own_), "MPI_Comm_dup_with_info");
    MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
    MPI_Comm_set_name(own_, "flotilla");  // for debuggers
  }
  ~mpi_link() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && own_ != MPI_COMM_NULL) { MPI_Comm_free(&own_); }
  }
  mpi_link(mpi_link const&) = delete;
  mpi_link& operator=(mpi_link const&) = delete;

  /// Collective. Fills all members except `self` and `threads`.
  void fill(transport& table) {
    check_mpi(MPI_Comm_rank(own_, &table.rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(own_, &table.ranks), "MPI_Comm_size");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &table.world_ranks), "MPI_Comm_size");
    MPI_Comm local = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(own_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local),
              "MPI_Comm_split_type");
    MPI_Comm_rank(local, &table.local_rank);
    MPI_Comm_size(local, &table.local_ranks);
    MPI_Comm_free(&local);
    sent_.resize(static_cast<std::size_t>(table.ranks));
    set_library();
    table.library = library_.c_str();
    table.isend = [](void* self, void const* data, std::size_t bytes, int to, int tag,
                     int* request) { return of(self).isend(data, bytes, to, tag, request); };
    table.irecv = [](void* self, void* data, std::size_t bytes, int from, int tag, int* request) {
      return of(self).irecv(data, bytes, from, tag, request);
    };
    table.testsome = [](void* self, transport_event* events, int capacity, int* count) {
      return of(self).requests_.testsome(events, capacity, count);
    };
    table.cancel = [](void* self, int request) { return of(self).requests_.cancel(request); };
    table.describe = [](void*, int status, char* text, std::size_t bytes) {
      describe_mpi(status, text, bytes);
    };
    table.close = [](void* self) { of(self).close(); };
  }

 private:
  static mpi_link& of(void* self) noexcept { return *static_cast<mpi_link*>(self); }

  /// MPICH's text has many lines. Others name the package and the date after a comma.
  void set_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    for (char const* each = text; *each != '\0' && *each != '\n' && *each != ','; ++each) {
      char const next = *each == '\t' ? ' ' : *each;
      if (next != ' ' || (!library_.empty() && library_.back() != ' ')) { library_ += next; }
    }
  }
  [[nodiscard]] bool is_rank(int number) const noexcept {
    return number >= 0 && static_cast<std::size_t>(number) < sent_.size();
  }
  // Without these checks, a wrong rank can be MPI_PROC_NULL or MPI_ANY_SOURCE, which have different
  // numbers in each MPI. A message of more than INT_MAX bytes needs MPI 4.0.
  int isend(void const* data, std::size_t bytes, int to, int tag, int* request) noexcept try {
    if (!is_rank(to)) { return MPI_ERR_RANK; }
    if (tag < 0) { return MPI_ERR_TAG; }
    if (bytes > INT_MAX) { return MPI_ERR_COUNT; }
    requests_.make_room();
    MPI_Request begun = MPI_REQUEST_NULL;
    int const status = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, own_, &begun);
    if (status != MPI_SUCCESS) { return status; }
    ++sent_[static_cast<std::size_t>(to)];
    *request = requests_.add(begun, mpi_requests::kind::send);
    return MPI_SUCCESS;
  } catch (...) { return MPI_ERR_NO_MEM; }
  int irecv(void* data, std::size_t bytes, int from, int tag, int* request) noexcept try {
    if (from != transport::any_source && !is_rank(from)) { return MPI_ERR_RANK; }
    if (tag < 0) { return MPI_ERR_TAG; }
    if (bytes > INT_MAX) { return MPI_ERR_COUNT; }
    requests_.make_room();
    MPI_Request begun = MPI_REQUEST_NULL;
    int const source = from == transport::any_source ? MPI_ANY_SOURCE : from;
    int const status =
        MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, source, tag, own_, &begun);
    if (status != MPI_SUCCESS) { return status; }
    *request = requests_.add(begun, mpi_requests::kind::receive);
    return MPI_SUCCESS;
  } catch (...) { return MPI_ERR_NO_MEM; }

  /// Waits for all ranks, and drops the messages that nobody has received. Otherwise MPICH 4 would
  /// give them to a later communicator, and MPICH 5 would not free this one.
  void close() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && !drop_messages()) { own_ = MPI_COMM_NULL; }
    delete this;
  }
  /// Returns whether no message is left, and so the communicator can be freed.
  bool drop_messages() noexcept {
    requests_.cancel_receives();
    long long sent_here = 0;
    MPI_Request sum = MPI_REQUEST_NULL;
    if (MPI_Ireduce_scatter_block(sent_.data(), &sent_here, 1, MPI_LONG_LONG, MPI_SUM, own_,
                                  &sum) != MPI_SUCCESS) {
      return false;
    }
    int all_here = 0;
    for (;;) {
      transport_event event;
      int ended = 0;
      if (requests_.testsome(&event, 1, &ended) != MPI_SUCCESS) { return false; }
      if (!all_here && MPI_Test(&sum, &all_here, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return false;
      }
      bool const dropped = drop_message();
      if (ended != 0 || dropped) { continue; }
      if (all_here && requests_.empty()) {
        if (lost_ || requests_.failed()) { return false; }
        if (requests_.received() + dropped_ >= sent_here) { return true; }
      }
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }
  bool drop_message() noexcept try {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, own_, &found, &message, &status) != MPI_SUCCESS) {
      lost_ = true;
    }
    if (lost_ || !found) { return false; }
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    // Not a short buffer: Open MPI writes beyond it.
    std::vector<char> into(static_cast<std::size_t>(bytes));
    MPI_Mrecv(into.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    ++dropped_;
    return true;
  } catch (...) {
    lost_ = true;
    return false;
  }

  MPI_Comm own_ = MPI_COMM_NULL;
  mpi_requests requests_;
  std::vector<long long> sent_;  // messages to each rank
  long long dropped_ = 0;
  bool lost_ = false;  // a message could not be dropped
  std::string library_;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
