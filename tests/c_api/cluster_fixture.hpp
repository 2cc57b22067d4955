// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a program of the C interface as several ranks of one process.

#include <bit>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <flotilla/testing/loop_transport.hpp>

#include "c_api/flow_fixture.hpp"

namespace flotilla::test {

[[nodiscard]] inline flotilla_transport transport_for_c(transport const& via) {
  return std::bit_cast<flotilla_transport>(via);
}
[[nodiscard]] inline flotilla_task_options on_rank(int rank) {
  flotilla_task_options options = FLOTILLA_TASK_OPTIONS_INIT;
  options.rank = rank;
  return options;
}

/// What one rank has.
class c_rank {
 public:
  c_rank(int workers, flotilla_transport const& via) : rt(make_c_runtime(workers, 1)) {
    FLOTILLA_C_OK(flotilla_cluster_create(rt, &via, &all));
    FLOTILLA_C_OK(flotilla_cluster_rank(all, &rank, &ranks));
    FLOTILLA_C_OK(flotilla_flow_create_over(all, nullptr, &flow));
  }
  ~c_rank() {
    for (flotilla_data const each : data_) { FLOTILLA_C_OK(flotilla_data_destroy(each)); }
    FLOTILLA_C_OK(flotilla_flow_destroy(flow));
    FLOTILLA_C_OK(flotilla_cluster_destroy(all));
    FLOTILLA_C_OK(flotilla_runtime_destroy(rt));
  }
  c_rank(c_rank const&) = delete;
  c_rank& operator=(c_rank const&) = delete;

  /// Makes data of words without contents, which end with the rank.
  [[nodiscard]] flotilla_data words(std::size_t count, char const* label) {
    flotilla_data made{};
    FLOTILLA_C_OK(flotilla_data_create(flow, flotilla_vector(sizeof(std::uint32_t), count), nullptr,
                                       label, &made));
    data_.push_back(made);
    return made;
  }
  /// Submits a callable of C++, which works on the host. @return what the C interface has returned
  flotilla_status submit(std::vector<flotilla_use> const& uses, data_body body,
                         flotilla_task_options const* options = nullptr,
                         flotilla_ticket* ticket = nullptr) const {
    return flotilla_flow_submit_host(
        flow,
        [](void* user, flotilla_task_context const* context, flotilla_view const* views) {
          return (*static_cast<data_body*>(user))(context, views);
        },
        new data_body(std::move(body)), [](void* user) { delete static_cast<data_body*>(user); },
        uses.data(), uses.size(), options, ticket);
  }
  /// to[i] = first + i
  void fill(flotilla_data to, std::uint32_t first) const {
    FLOTILLA_C_OK(submit({flotilla_write(to)}, [first](auto const*, flotilla_view const* views) {
      auto* const out = static_cast<std::uint32_t*>(views[0].data);
      for (std::uint32_t i = 0; i < views[0].extents[0]; ++i) { out[i] = first + i; }
      return 0;
    }));
  }
  [[nodiscard]] int owner_of(flotilla_data which) const {
    int owner = -1;
    FLOTILLA_C_OK(flotilla_data_owner(which, &owner));
    return owner;
  }
  /// Only on the owner of the data.
  [[nodiscard]] std::vector<std::uint32_t> on_host(flotilla_data which) const {
    flotilla_view view{};
    FLOTILLA_C_OK(flotilla_data_to_host(which, 0, &view));
    auto const* const first = static_cast<std::uint32_t const*>(view.data);
    return {first, first + view.extents[0]};
  }

  int rank = -1, ranks = -1;
  flotilla_runtime rt{};
  flotilla_cluster all{};
  flotilla_flow flow{};

 private:
  std::vector<flotilla_data> data_;
};

/// A test whose parameter is the number of workers.
class c_cluster_test : public guest_test, public ::testing::WithParamInterface<int> {
 protected:
  /// Runs a function on each of `count` ranks, each in a thread and with a runtime of its own.
  static void on_ranks(int count, std::function<void(c_rank&)> const& function) {
    testing::loop loop{count};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        c_rank here{GetParam(), transport_for_c(loop.rank(i))};
        function(here);
      });
    }
    for (std::thread& each : threads) { each.join(); }
  }
};

}  // namespace flotilla::test
