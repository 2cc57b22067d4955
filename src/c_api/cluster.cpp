// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/cluster.h>

#include <bit>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/cluster/transport.hpp>
#include <flotilla/error/error.hpp>

#include "c_api/call.hpp"
#include "c_api/destruction.hpp"
#include "c_api/objects.hpp"

namespace flotilla::c_api {

namespace {

// A flotilla_transport has the bytes of a transport, and so have their events.
#define FLOTILLA_SAME_PLACE(member)                                                    \
  static_assert(offsetof(flotilla_transport, member) == offsetof(transport, member) && \
                sizeof(flotilla_transport::member) == sizeof(transport::member))
FLOTILLA_SAME_PLACE(size);
FLOTILLA_SAME_PLACE(self);
FLOTILLA_SAME_PLACE(rank);
FLOTILLA_SAME_PLACE(ranks);
FLOTILLA_SAME_PLACE(world_ranks);
FLOTILLA_SAME_PLACE(local_rank);
FLOTILLA_SAME_PLACE(local_ranks);
FLOTILLA_SAME_PLACE(threads);
FLOTILLA_SAME_PLACE(library);
FLOTILLA_SAME_PLACE(isend);
FLOTILLA_SAME_PLACE(irecv);
FLOTILLA_SAME_PLACE(testsome);
FLOTILLA_SAME_PLACE(cancel);
FLOTILLA_SAME_PLACE(describe);
FLOTILLA_SAME_PLACE(close);
#undef FLOTILLA_SAME_PLACE
static_assert(sizeof(flotilla_transport) == sizeof(transport));
#define FLOTILLA_SAME_PLACE(member) \
  static_assert(offsetof(flotilla_transport_event, member) == offsetof(transport_event, member))
FLOTILLA_SAME_PLACE(request);
FLOTILLA_SAME_PLACE(source);
FLOTILLA_SAME_PLACE(bytes);
FLOTILLA_SAME_PLACE(status);
#undef FLOTILLA_SAME_PLACE
static_assert(sizeof(flotilla_transport_event) == sizeof(transport_event));
static_assert(FLOTILLA_TRANSPORT_MAIN_ONLY == static_cast<int>(transport_threads::main_only));
static_assert(FLOTILLA_TRANSPORT_SERIALIZED == static_cast<int>(transport_threads::serialized));
static_assert(FLOTILLA_TRANSPORT_MULTIPLE == static_cast<int>(transport_threads::multiple));

/// A transport that is closed unless a cluster takes it over.
class open_transport {
 public:
  /// @throws refused_call  The size is too small.
  explicit open_transport(flotilla_transport const& given) {
    check_size(given, "flotilla_transport");
    held_ = std::bit_cast<transport>(given);
  }
  open_transport(open_transport const&) = delete;
  open_transport& operator=(open_transport const&) = delete;
  ~open_transport() {
    if (held_.close != nullptr) { held_.close(held_.self); }
  }
  [[nodiscard]] transport release() noexcept { return std::exchange(held_, {}); }

 private:
  transport held_;
};

void refuse_if_used(held_cluster const& held) {
  refuse_if_any(static_cast<std::size_t>(held.users.use_count() - 1), "flows and data", "destroy");
}

/// Waits for the tasks of this rank, unless a rank or the runtime has failed: then the end of the
/// cluster does not need them. @throws would_deadlock, used_after_fork
void finish(cluster& which) {
  try {
    which.finish();
  } catch (rank_failed const&) {
  } catch (poisoned const&) {}
}

void destroy(flotilla_cluster handle) {
  destruction claimed{cluster_table::get(), handle.id, kinds::cluster};
  refuse_if_used(claimed.held());
  finish(claimed.held().held);     // while the handle is valid, because functions of tasks use it
  refuse_if_used(claimed.held());  // a function of a task may have made objects during the wait
  std::unique_ptr<held_cluster> taken = claimed.take();
  held_runtime& owner = taken->owner;
  taken.reset();
  owner.clusters.fetch_sub(1);  // last, because afterwards the runtime may be destroyed
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_cluster_create(flotilla_runtime rt, flotilla_transport const* via,
                                        flotilla_cluster* made) {
  return guarded("flotilla_cluster_create", [&] {
    open_transport given{required(via, "via")};
    required(made, "made").id = 0;
    held_runtime& owner = object(rt);
    made->id = cluster_table::get().emplace(
        [&] { return std::make_unique<held_cluster>(owner, given.release()); });
    owner.clusters.fetch_add(1);
  });
}

flotilla_status flotilla_cluster_destroy(flotilla_cluster cluster) {
  return guarded("flotilla_cluster_destroy", [&] { destroy(cluster); });
}

flotilla_status flotilla_cluster_rank(flotilla_cluster cluster, int* rank, int* ranks) {
  return guarded("flotilla_cluster_rank", [&] {
    flotilla::cluster const& held = object(cluster).held;
    if (rank != nullptr) { *rank = held.rank(); }
    if (ranks != nullptr) { *ranks = held.ranks(); }
  });
}

flotilla_status flotilla_cluster_exclusive(flotilla_cluster cluster, int (*function)(void* user),
                                           void* user) {
  return guarded("flotilla_cluster_exclusive", [&] {
    check_not_null(function, "function");
    int const code = object(cluster).held.exclusive([&] { return function(user); });
    if (code != 0) {
      throw flotilla::task_failed(
          code, "a function in flotilla_cluster_exclusive returned " + std::to_string(code));
    }
  });
}

flotilla_status flotilla_cluster_wait_idle(flotilla_cluster cluster) {
  return guarded("flotilla_cluster_wait_idle", [&] { object(cluster).held.wait_idle(); });
}

flotilla_status flotilla_cluster_finish(flotilla_cluster cluster) {
  return guarded("flotilla_cluster_finish", [&] { object(cluster).held.finish(); });
}

flotilla_status flotilla_cluster_fail(flotilla_cluster cluster, char const* why) {
  return guarded("flotilla_cluster_fail", [&] { object(cluster).held.fail(text_of(why, "why")); });
}

flotilla_status flotilla_cluster_get_counters(flotilla_cluster cluster,
                                              flotilla_cluster_counters* counters) {
  return guarded("flotilla_cluster_get_counters", [&] {
    flotilla::cluster const& held = object(cluster).held;
    check_size(required(counters, "counters"), "flotilla_cluster_counters");
    flotilla::cluster_counters const found = held.counters();
    counters->messages_sent = found.messages_sent;
    counters->messages_received = found.messages_received;
    counters->transfers_sent = found.transfers_sent;
    counters->transfers_received = found.transfers_received;
    counters->bytes_sent = found.bytes_sent;
    counters->bytes_received = found.bytes_received;
  });
}
