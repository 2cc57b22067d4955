// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The functions of a transport of testing::loop.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/loop_state.hpp"

namespace flotilla::cluster_ranks {
namespace {

/// The requests of a rank. Not synchronized, because a cluster calls one function at a time. So
/// TSan finds a cluster that does not.
class loop_endpoint {
 public:
  loop_endpoint(std::shared_ptr<loop_state> all, int rank)
      : all_{std::move(all)}, rank_{rank}, seat_{all_->at(rank)} {}
  loop_endpoint(loop_endpoint const&) = delete;
  loop_endpoint& operator=(loop_endpoint const&) = delete;
  ~loop_endpoint() {
    all_->close(rank_, loop_closed);
    // The data of sends that are still open may be gone afterwards.
    for (request_use const& each : requests_) {
      if (each.kind == kinds::waiting_send) { all_->at(each.peer).mailbox.withdraw(rank_); }
    }
  }

  // The functions of the transport. They may throw std::bad_alloc, and have then done nothing.
  int send(void const* data, std::size_t bytes, int to, int tag, int* request);
  int receive(void* data, std::size_t bytes, int from, int tag, int* request);
  int test(transport_event* events, int capacity, int* count);
  int cancel(int request) noexcept;

 private:
  enum class kinds : std::uint8_t { none, send, waiting_send, receive };
  struct request_use {
    kinds kind = kinds::none;
    int peer = 0;
  };

  [[nodiscard]] bool is_rank(int rank) const noexcept { return rank >= 0 && rank < all_->ranks; }
  [[nodiscard]] static bool is_valid(void const* data, std::size_t bytes, int tag) noexcept {
    return tag >= 0 && tag <= transport::max_tag && (data != nullptr || bytes == 0);
  }
  /// Returns why a call of isend or irecv fails at once.
  [[nodiscard]] int refusal() noexcept;
  /// Returns the number of a new request.
  [[nodiscard]] int begin(kinds kind, int peer);
  void end(int number) noexcept;

  std::shared_ptr<loop_state> all_;
  int rank_;
  loop_state::seat& seat_;
  std::vector<request_use> requests_{};  // by number
  std::vector<int> unused_{};            // numbers; its capacity suffices for all of them
  std::size_t open_ = 0;                 // requests
  std::vector<loop_ending> sent_{};      // sends that end at the next `test`
  std::vector<loop_ending> taken_{};     // empty between calls
};

int loop_endpoint::refusal() noexcept {
  if (seat_.mailbox.is_killed()) { return loop_killed; }
  for (int left = seat_.refusals; left > 0;) {
    if (seat_.refusals.compare_exchange_weak(left, left - 1)) { return loop_refused; }
  }
  return loop_success;
}

int loop_endpoint::begin(kinds kind, int peer) {
  if (unused_.empty()) {
    std::size_t const count = requests_.size() + 1;
    if (unused_.capacity() < count) { unused_.reserve(2 * count); }
    requests_.emplace_back();
    unused_.push_back(static_cast<int>(count) - 1);
  }
  int const number = unused_.back();
  unused_.pop_back();
  requests_[static_cast<std::size_t>(number)] = {.kind = kind, .peer = peer};
  ++open_;
  return number;
}

void loop_endpoint::end(int number) noexcept {
  requests_[static_cast<std::size_t>(number)].kind = kinds::none;
  unused_.push_back(number);
  --open_;
}

int loop_endpoint::send(void const* data, std::size_t bytes, int to, int tag, int* request) {
  if (int const status = refusal(); status != loop_success) { return status; }
  if (!is_valid(data, bytes, tag) || !is_rank(to)) { return loop_bad_argument; }
  if (sent_.size() == sent_.capacity()) { sent_.reserve(2 * sent_.size() + 1); }
  bool const waits = bytes > all_->options.eager_bytes;
  int const number = begin(waits ? kinds::waiting_send : kinds::send, to);
  int status = loop_no_memory;
  try {
    if (waits) { seat_.mailbox.make_room(open_); }
    loop_message const message{.source = rank_,
                               .tag = tag,
                               .data = static_cast<std::byte const*>(data),
                               .bytes = bytes,
                               .waiting_request = waits ? number : -1,
                               .arrival = all_->arrival(rank_, bytes)};
    status = all_->at(to).mailbox.put(message);
  } catch (std::bad_alloc const&) {}
  if (status == loop_no_memory) {
    end(number);
    return status;
  }
  if (!waits || status != loop_success) {  // else the receiver ends it
    sent_.push_back({.event = {.request = number, .status = status}});
  }
  ++seat_.messages_sent;
  seat_.bytes_sent += bytes;
  *request = number;
  return loop_success;
}

int loop_endpoint::receive(void* data, std::size_t bytes, int from, int tag, int* request) {
  if (int const status = refusal(); status != loop_success) { return status; }
  bool const is_any = from == transport::any_source;
  if (!is_valid(data, bytes, tag) || !(is_any || is_rank(from))) { return loop_bad_argument; }
  int const number = begin(kinds::receive, from);
  loop_receive const wanted{.request = number,
                            .from = from,
                            .tag = tag,
                            .data = static_cast<std::byte*>(data),
                            .bytes = bytes};
  try {
    seat_.mailbox.receive(wanted, open_, is_any ? nullptr : &all_->at(from).mailbox);
  } catch (std::bad_alloc const&) {
    end(number);
    return loop_no_memory;
  }
  *request = number;
  return loop_success;
}

int loop_endpoint::test(transport_event* events, int capacity, int* count) {
  *count = 0;
  if (seat_.mailbox.is_killed()) { return loop_killed; }
  if (capacity < 0) { return loop_bad_argument; }
  seat_.mailbox.take(sent_, open_, static_cast<std::size_t>(capacity), taken_);
  for (loop_ending const& each : taken_) {
    events[(*count)++] = each.event;
    end(each.event.request);
    if (!each.has_message) { continue; }
    all_->traffic.remove(each.event.bytes);
    all_->wait_until(rank_, each.arrival);
    if (each.waiting_sender >= 0) {
      all_->at(each.waiting_sender).mailbox.end_send(each.waiting_request, loop_success);
    }
  }
  taken_.clear();
  return loop_success;
}

int loop_endpoint::cancel(int request) noexcept {
  if (seat_.mailbox.is_killed()) { return loop_killed; }
  auto const index = static_cast<std::size_t>(request);
  if (request < 0 || index >= requests_.size() || requests_[index].kind != kinds::receive) {
    return loop_bad_request;
  }
  seat_.mailbox.cancel(request);
  return loop_success;
}

loop_endpoint& loop_endpoint_of(void* self) noexcept { return *static_cast<loop_endpoint*>(self); }

/// Calls a function of a transport, which throws nothing.
template <class F>
int loop_call(F const& function) noexcept {
  try {
    return function();
  } catch (std::bad_alloc const&) { return loop_no_memory; }
}

constexpr std::array<std::string_view, loop_no_memory - loop_cancelled + 1> loop_texts{
    "the receive was cancelled",
    "success",
    "the process of the other rank has failed (testing::loop::kill)",
    "the process of this rank has failed (testing::loop::kill)",
    "the call was refused (testing::loop::refuse_next)",
    "the message is longer than the receive",
    "a rank, tag or pointer is invalid",
    "the request is no open receive",
    "the other rank has closed its transport",
    "there is no host memory",
};

void describe_loop_status(int status, char* text, std::size_t bytes) noexcept {
  if (bytes == 0) { return; }
  bool const is_known = status >= loop_cancelled && status <= loop_no_memory;
  std::string_view const known =
      is_known ? loop_texts[static_cast<std::size_t>(status - loop_cancelled)] : "unknown error";
  text[known.copy(text, bytes - 1)] = '\0';
}

}  // namespace

transport make_loop_transport(std::shared_ptr<loop_state> all, int rank) {
  int const on_one = all->options.local_ranks == 0 ? all->ranks : all->options.local_ranks;
  transport made;
  made.rank = rank;
  made.ranks = made.world_ranks = all->ranks;
  made.local_rank = rank % on_one;
  made.local_ranks = std::min(on_one, all->ranks - (rank - made.local_rank));
  made.library = "flotilla::testing::loop";
  made.isend = [](void* self, void const* data, std::size_t bytes, int to, int tag, int* request) {
    return loop_call([&] { return loop_endpoint_of(self).send(data, bytes, to, tag, request); });
  };
  made.irecv = [](void* self, void* data, std::size_t bytes, int from, int tag, int* request) {
    return loop_call(
        [&] { return loop_endpoint_of(self).receive(data, bytes, from, tag, request); });
  };
  made.testsome = [](void* self, transport_event* events, int capacity, int* count) {
    return loop_call([&] { return loop_endpoint_of(self).test(events, capacity, count); });
  };
  made.cancel = [](void* self, int request) { return loop_endpoint_of(self).cancel(request); };
  made.describe = [](void*, int status, char* text, std::size_t bytes) {
    describe_loop_status(status, text, bytes);
  };
  made.close = [](void* self) { std::default_delete<loop_endpoint>{}(&loop_endpoint_of(self)); };
  made.self = new loop_endpoint{std::move(all), rank};
  return made;
}

}  // namespace flotilla::cluster_ranks
