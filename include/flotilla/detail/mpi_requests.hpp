// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The open requests of a communicator of MPI, for <flotilla/mpi.hpp>.

// Otherwise mpi.h adds the bindings for C++, which MPI 3.0 has removed, to each program.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <flotilla/cluster/transport.hpp>

#if MPI_VERSION < 3
#error "flotilla needs MPI 3.0 or later"
#endif

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The open requests of a communicator, by numbers.
class mpi_requests {
 public:
  enum class kind : unsigned char { none, send, receive, cancelled_receive, ended };

  /// Makes room for one more request, so that nothing later needs memory.
  /// @throws std::bad_alloc
  void make_room() {
    if (!spare_.empty()) { return; }
    std::size_t const before = kinds_.size();
    std::size_t const after = std::max<std::size_t>(32, 2 * before);
    open_.reserve(after);
    numbers_.reserve(after);
    ended_.reserve(after);
    spare_.reserve(after);
    indices_.resize(after);
    statuses_.resize(after);
    kinds_.resize(after, kind::none);
    for (std::size_t i = after; i > before; --i) { spare_.push_back(static_cast<int>(i - 1)); }
  }
  /// Returns the number of a request that has begun. `make_room` comes first.
  int add(MPI_Request request, kind what) noexcept {
    int const number = spare_.back();
    spare_.pop_back();
    kind_of(number) = what;
    open_.push_back(request);
    numbers_.push_back(number);
    return number;
  }
  int cancel(int number) noexcept {
    if (number < 0 || index(number) >= kinds_.size()) { return MPI_ERR_REQUEST; }
    kind const what = kind_of(number);
    if (what == kind::ended || what == kind::cancelled_receive) { return MPI_SUCCESS; }
    if (what != kind::receive) { return MPI_ERR_REQUEST; }
    return cancel_at(std::find(numbers_.begin(), numbers_.end(), number) - numbers_.begin());
  }
  void cancel_receives() noexcept {
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (kind_of(numbers_[i]) == kind::receive) { cancel_at(static_cast<std::ptrdiff_t>(i)); }
    }
  }
  int testsome(transport_event* events, int capacity, int* count) noexcept {
    *count = 0;
    if (given_ == ended_.size()) {
      if (int const status = collect(); status != MPI_SUCCESS) { return status; }
    }
    for (; *count < capacity && given_ < ended_.size(); ++given_, ++*count) {
      events[*count] = ended_[given_];
      kind_of(events[*count].request) = kind::none;
      spare_.push_back(events[*count].request);
    }
    return MPI_SUCCESS;
  }
  [[nodiscard]] bool empty() const noexcept { return open_.empty() && given_ == ended_.size(); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// How many messages receives have taken.
  [[nodiscard]] long long received() const noexcept { return received_; }

 private:
  static std::size_t index(int number) noexcept { return static_cast<std::size_t>(number); }
  kind& kind_of(int number) noexcept { return kinds_[index(number)]; }
  int cancel_at(std::ptrdiff_t at) noexcept {
    int const status = MPI_Cancel(open_.data() + at);
    if (status == MPI_SUCCESS) { kind_of(*(numbers_.data() + at)) = kind::cancelled_receive; }
    return status;
  }

  /// Moves the requests that have ended to `ended_`.
  int collect() noexcept {
    ended_.clear();
    given_ = 0;
    if (open_.empty()) { return MPI_SUCCESS; }
    int count = 0;
    int const status = MPI_Testsome(static_cast<int>(open_.size()), open_.data(), &count,
                                    indices_.data(), statuses_.data());
    if (status == MPI_SUCCESS && count == 0) { return MPI_SUCCESS; }
    int what = MPI_SUCCESS;
    MPI_Error_class(status, &what);  // a code of MPICH can differ from its class
    if (what != MPI_SUCCESS && what != MPI_ERR_IN_STATUS) { return status; }
    MPI_Status failure{};
    failure.MPI_ERROR = MPI_ERR_OTHER;
    for (int i = 0; i < count; ++i) {
      MPI_Status& each = statuses_[index(i)];
      if (what == MPI_SUCCESS) { each.MPI_ERROR = MPI_SUCCESS; }  // MPI has not set it
      if (each.MPI_ERROR != MPI_SUCCESS) { failure = each; }
      end(index(indices_[index(i)]), each);
    }
    for (std::size_t i = 0; what != MPI_SUCCESS && i < open_.size(); ++i) {
      // Open MPI 5 with fault tolerance frees failed requests without a word.
      bool const lost = open_[i] == MPI_REQUEST_NULL && kind_of(numbers_[i]) != kind::ended;
      if (lost) { end(i, failure); }
    }
    std::size_t kept = 0;  // in their order, so that MPI looks at old requests first
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (kind_of(numbers_[i]) == kind::ended) { continue; }
      open_[kept] = open_[i];
      numbers_[kept++] = numbers_[i];
    }
    open_.resize(kept);
    numbers_.resize(kept);
    return MPI_SUCCESS;
  }
  void end(std::size_t at, MPI_Status& status) noexcept {
    transport_event event;
    event.request = numbers_[at];
    event.status = status.MPI_ERROR;
    kind& what = kind_of(event.request);
    int cancelled = 0;
    if (event.status != MPI_SUCCESS) {
      failed_ = true;
      // With fault tolerance, a receive from any rank stays open when a rank has died.
      if (open_[at] != MPI_REQUEST_NULL) {
        MPI_Cancel(&open_[at]);
        MPI_Request_free(&open_[at]);  // MPI_Wait would fail
      }
    } else if (what == kind::cancelled_receive && MPI_Test_cancelled(&status, &cancelled) == 0 &&
               cancelled) {
      event.status = -1;
    } else if (what != kind::send) {
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      event.bytes = index(bytes);
      event.source = status.MPI_SOURCE;
      ++received_;
    }
    what = kind::ended;
    ended_.push_back(event);
  }

  std::vector<MPI_Request> open_;  // in the order in which they have begun
  std::vector<int> numbers_;       // of the requests in open_
  std::vector<kind> kinds_;        // by number
  std::vector<int> spare_;         // numbers without a request
  std::vector<int> indices_;       // what MPI_Testsome writes
  std::vector<MPI_Status> statuses_;
  std::vector<transport_event> ended_;
  std::size_t given_ = 0;  // of ended_: events that were returned
  long long received_ = 0;
  bool failed_ = false;
};

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
