// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a flow submits, and functions of tasks that use data.

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include <flotilla/data/uses.hpp>
#include <flotilla/data/view.hpp>
#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/data_launch.hpp>

namespace flotilla {
inline namespace v0_1 {
namespace detail {

template <class T>
inline constexpr bool is_data_list = false;
template <class... Uses>
inline constexpr bool is_data_list<data_list<Uses...>> = true;

/// What the first argument of flow::submit may be.
template <class W>
concept flow_work =
    std::convertible_to<W, data_launch const&> || is_data_list<std::remove_cvref_t<W>>;
template <class W>
concept not_flow_work = !flow_work<W>;

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

template <class Use>
struct views_of {
  using type = std::tuple<>;  // a token
};
template <class Element, int Rank>
struct views_of<data_use<Element, Rank>> {
  using type = std::tuple<view<Element, Rank>>;
};
template <class F, class Arguments>
inline constexpr bool takes_all = false;
template <class F, class... Arguments>
inline constexpr bool takes_all<F, std::tuple<Arguments...>> =
    std::is_invocable_v<F&, Arguments...>;

/// Whether the function can be called with `First` and a view of each of the data.
template <class F, class List, class... First>
inline constexpr bool takes_views = false;
template <class F, class... Uses, class... First>
inline constexpr bool takes_views<F, data_list<Uses...>, First...> =
    takes_all<std::decay_t<F>,
              decltype(std::tuple_cat(std::declval<std::tuple<First...>>(),
                                      std::declval<typename views_of<Uses>::type>()...))>;

/// @tparam First  What the function takes before the views.
template <class... First, class F, class... Uses>
[[nodiscard]] auto bind(F&& function, data_list<Uses...> const& with) {
  static_assert(takes_views<F, data_list<Uses...>, First...>,
                "the function takes a view of each of the data in `uses`, in this order: view<T "
                "const> of read(x), else view<T>; tokens have no view. A callable takes a "
                "task_context& before them");
  return std::make_unique<bound_function<std::decay_t<F>, Uses...>>(std::forward<F>(function),
                                                                    with);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
