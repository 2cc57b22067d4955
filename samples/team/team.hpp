// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ranks that run a sample together. heat and cholesky share this folder.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <flotilla/cluster/cluster.hpp>
#include <flotilla/flotilla.hpp>

namespace samples {

/// A device of a rank.
struct place {
  int rank = 0;
  flotilla::device_ordinal device{};
  bool operator==(place const&) const = default;
};

/// The ranks of the program, or the only process if it does not run over ranks. All ranks must make
/// the same calls of `make_flow`, `wait_idle`, `values_of_all`, `on_first` and `places`.
class team {
 public:
  /// @param all  Null: this process is alone.
  explicit team(flotilla::runtime& rt, flotilla::cluster* all = nullptr) : rt_(rt), all_(all) {}

  [[nodiscard]] flotilla::runtime& runtime() const noexcept { return rt_; }
  [[nodiscard]] int rank() const { return all_ == nullptr ? 0 : all_->rank(); }
  [[nodiscard]] int ranks() const { return all_ == nullptr ? 1 : all_->ranks(); }
  /// Returns whether this rank prints and writes files.
  [[nodiscard]] bool is_first() const { return rank() == 0; }
  /// Returns the words for the output: "rank 1, " and "2 ranks, ", or nothing in a process alone.
  [[nodiscard]] std::string rank_text() const {
    return all_ == nullptr ? "" : "rank " + std::to_string(rank()) + ", ";
  }
  [[nodiscard]] std::string ranks_text() const {
    return all_ == nullptr ? "" : std::to_string(ranks()) + (ranks() == 1 ? " rank, " : " ranks, ");
  }

  [[nodiscard]] flotilla::flow make_flow(flotilla::flow_options const& how = {}) const {
    return all_ == nullptr ? flotilla::flow{rt_, how} : flotilla::flow{*all_, how};
  }
  /// Waits for all tasks of all ranks.
  void wait_idle() const { all_ == nullptr ? rt_.wait_idle() : all_->wait_idle(); }

  /// Returns the values of all ranks, by rank. What the ranks do next must depend only on values
  /// that all of them have, because all must submit the same tasks.
  template <class T>
  [[nodiscard]] std::vector<T> values_of_all(T const& mine) const {
    std::vector<T> made(static_cast<std::size_t>(ranks()), mine);
    if (all_ == nullptr) { return made; }
    flotilla::flow flow{*all_};
    flotilla::data<T> values{flow, {made.size()}, "values of all ranks"};
    flow.post(uses(write(values)), flotilla::host_task([mine](flotilla::view<T> to) {
                std::fill_n(to.data, to.size(), mine);
              }));
    for (int rank = 1; rank < ranks(); ++rank) {
      flow.post(uses(update(values)),
                flotilla::host_task([mine, rank](flotilla::view<T> to) { to(rank) = mine; }),
                {.rank = rank});
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      flotilla::ticket const here = flow.submit(
          uses(read(values)), flotilla::host_task([&made](flotilla::view<T const> from) {
            std::copy_n(from.data, from.size(), made.data());
          }),
          {.rank = rank});
      if (here.valid()) { here.wait(); }
    }
    return made;
  }
  /// Calls `function` on rank 0. @return its result, on all ranks.
  template <std::invocable F>
  [[nodiscard]] auto on_first(F const& function) const {
    using result = std::invoke_result_t<F const&>;
    return values_of_all(is_first() ? std::invoke(function) : result{}).front();
  }
  /// Returns the devices of all ranks, by rank. The ranks may have different numbers of devices.
  [[nodiscard]] std::vector<place> places() const {
    std::vector<place> made;
    std::vector<std::size_t> const counts = values_of_all(rt_.devices().size());
    for (int rank = 0; rank < ranks(); ++rank) {
      for (unsigned i = 0; i < counts[static_cast<std::size_t>(rank)]; ++i) {
        made.push_back({rank, flotilla::device_ordinal{i}});
      }
    }
    return made;
  }

 private:
  flotilla::runtime& rt_;
  flotilla::cluster* all_;
};

}  // namespace samples
