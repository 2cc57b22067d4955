// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions of tasks that use data.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/data/uses.hpp>
#include <flotilla/data/view.hpp>
#include <flotilla/detail/data_use.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

/// The function of a task, and the data that it uses. The flow writes the addresses when it submits
/// the task.
template <class F, class... Uses>
class bound_function {
 public:
  static constexpr std::size_t count = sizeof...(Uses);

  template <class G>
  bound_function(G&& function, data_list<Uses...> const& with)
      : function_(std::forward<G>(function)), uses_{use_access::all(with)} {}

  [[nodiscard]] std::array<datum_use, count> uses() const noexcept {
    return std::apply(
        [](auto const&... each) { return std::array<datum_use, count>{use_access::what(each)...}; },
        uses_);
  }
  [[nodiscard]] std::span<placed_data> places() noexcept { return places_; }

  /// Calls the function with `first` and a view of each of the data.
  template <class... First>
  void call(First&... first) {
    std::apply(
        function_, [&]<std::size_t... Index>(std::index_sequence<Index...>) {
          return std::tuple_cat(std::tie(first...),
                                argument(std::get<Index>(uses_), places_[Index])...);
        }(std::make_index_sequence<count>{}));
  }

 private:
  template <class Element, int Rank>
  [[nodiscard]] static auto argument(data_use<Element, Rank> const& use,
                                     placed_data const& at) noexcept {
    return std::tuple<view<Element, Rank>>{use_access::view_of(use, at)};
  }
  [[nodiscard]] static std::tuple<> argument(token_use const&, placed_data const&) noexcept {
    return {};
  }

  F function_;
  std::tuple<Uses...> uses_;
  std::array<placed_data, count> places_{};
};

template <class F, class... Uses>
[[nodiscard]] auto bind(F&& function, data_list<Uses...> const& with) {
  return std::make_unique<bound_function<std::decay_t<F>, Uses...>>(std::forward<F>(function),
                                                                    with);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
