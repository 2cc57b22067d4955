// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How tasks of a flow use data: `read(a)`, `write(b)`, `update(c)`, `commute(d)`, `reduce(e)`.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>

#include <flotilla/data/data.hpp>
#include <flotilla/data/reduction.hpp>
#include <flotilla/data/view.hpp>
#include <flotilla/detail/data_use.hpp>

namespace flotilla {
inline namespace v0_1 {

/// One use of data by a task. `read`, `write`, `update` and `reduce` make it. It is an argument of
/// a kernel, or an argument of `uses`. The task gets a `view<Element, Rank>`, or a kernel also an
/// `Element*`.
///
/// Lifetime: the data must exist until the task was submitted.
/// @tparam Element  The type of the objects; const if the task only reads them.
template <class Element, int Rank>
class data_use {
 public:
  using view_type = view<Element, Rank>;
  static constexpr bool is_token = false;

 private:
  friend struct detail::use_access;
  data_use(detail::datum_use what,
           std::array<std::size_t, std::size_t{Rank}> const& extents) noexcept
      : what_{what}, extents_{extents} {}

  detail::datum_use what_;
  std::array<std::size_t, std::size_t{Rank}> extents_;
};

/// One use of a token by a task. It gives the task no argument, so it can only be an argument of
/// `uses`.
class token_use {
 public:
  static constexpr bool is_token = true;

 private:
  friend struct detail::use_access;
  explicit token_use(detail::datum_use what) noexcept : what_{what} {}
  // Only templates read it, and clang 23 does not count that as a use.
  [[maybe_unused]] detail::datum_use what_;
};

/// The data of a callable or host task, in the order of its arguments. `uses` makes it.
template <class... Uses>
class data_list {
 private:
  friend struct detail::use_access;
  std::tuple<Uses...> uses_;
  explicit data_list(Uses const&... uses) : uses_{uses...} {}
};

namespace detail {

struct use_access {
  template <class Element, int Rank, class Data>
  [[nodiscard]] static data_use<Element, Rank> make(Data const& of, access_mode mode,
                                                    reduction const* how = nullptr) noexcept {
    return {{of.state_.get(), mode, how}, of.extents_};
  }
  [[nodiscard]] static token_use make(token const& of, access_mode mode) noexcept {
    return token_use{{of.state_.get(), mode, nullptr}};
  }
  template <class... Uses>
  [[nodiscard]] static data_list<Uses...> list(Uses const&... each) {
    return data_list<Uses...>{each...};
  }
  template <class Use>
  [[nodiscard]] static datum_use const& what(Use const& of) noexcept {
    return of.what_;
  }
  template <class Element, int Rank>
  [[nodiscard]] static std::array<std::size_t, std::size_t{Rank}> const& extents(
      data_use<Element, Rank> const& of) noexcept {
    return of.extents_;
  }
  template <class... Uses>
  [[nodiscard]] static std::tuple<Uses...> const& all(data_list<Uses...> const& of) noexcept {
    return of.uses_;
  }
  /// Returns the view of a use.
  template <class Element, int Rank>
  [[nodiscard]] static view<Element, Rank> view_of(data_use<Element, Rank> const& of,
                                                   placed_data const& at) noexcept {
    return make_view<Element, Rank>(of.extents_, at);
  }
};

}  // namespace detail

/// The task reads the data.
template <class T, int Rank>
[[nodiscard]] data_use<T const, Rank> read(data<T, Rank> const& what) noexcept {
  return detail::use_access::make<T const, Rank>(what, detail::access_mode::read);
}
/// The task writes all of the data and does not read them. So the data need not be copied to the
/// device. Objects that the task does not write have no defined value afterwards.
template <class T, int Rank>
[[nodiscard]] data_use<T, Rank> write(data<T, Rank>& what) noexcept {
  return detail::use_access::make<T, Rank>(what, detail::access_mode::write);
}
/// The task reads and writes the data, or writes a part of them.
template <class T, int Rank>
[[nodiscard]] data_use<T, Rank> update(data<T, Rank>& what) noexcept {
  return detail::use_access::make<T, Rank>(what, detail::access_mode::update);
}
/// The task updates the data, and the order of such updates does not matter, as in `c += a * b`.
/// Tasks that commute never run at the same time. A device starts each of them when its other
/// predecessors have been launched or have ended. So a task whose predecessors are not launched yet
/// delays no other one. In these cases, tasks keep the order of submission, as with `update`:
///
/// - tasks on different devices, and host tasks;
/// - a task that also writes other data or commutes on them;
/// - the first task after a reader of the data or a copy by the flow, and each ninth task in a row;
/// - tasks in most iterations of `flow::repeat`, and all tasks if the runtime has checks
///   (runtime_options::checks) or the flow keeps its graph (flow_options::keeps_graph).
///
/// If one of the tasks fails, the data are lost. Tasks that commute with it may still run. A
/// callable that commutes must not wait for another task that commutes with it: the wait may be
/// refused (would_deadlock). The result of a floating-point operation can depend on the order.
///
///     for (auto& part : parts) { flow.post(add.over(n)(read(part), commute(sum), n)); }
template <class T, int Rank>
[[nodiscard]] data_use<T, Rank> commute(data<T, Rank>& what) noexcept {
  return detail::use_access::make<T, Rank>(what, detail::access_mode::commute);
}
/// The task combines its contribution into the data with an operation, which must be associative
/// and commutative: `all[i] = op(all[i], mine[i])`. The task does not get the data, but a partial
/// result, which is data of its own with the same extents. Each device, and the host, has one
/// partial result. Before its first task the flow fills it with the identity of the operation. So
/// tasks that reduce on different devices have no order with each other. Tasks at the same place
/// run one after the other. If a task uses another operation than the tasks before it, their
/// partial results are combined first.
///
/// The next task that reads or updates the data, and `host()`, get the combination of the data and
/// all partial results; a task that writes the data discards them. If the data have no contents,
/// the result is the combination of the partial results. At the first place of such a task, unless
/// the data are valid on other devices only, the tasks update the data themselves, so a reduction
/// on one device stays on this device. If other places have partial results, a host task combines
/// them, so they are copied to the host: such reductions are meant for results that are small
/// compared with the data from which they come. The result of a floating-point operation can depend
/// on where the tasks ran.
///
///     flow.submit(dot.over(n)(read(x), read(y), reduce(sum), n));
///
/// @param op  `std::plus<>` and the other operations of <flotilla/data/reduction.hpp>, or your own.
template <class T, int Rank, class Op = std::plus<>>
requires reduction_of<Op, T>
[[nodiscard]] data_use<T, Rank> reduce(data<T, Rank>& what, [[maybe_unused]] Op op = {}) noexcept {
  static_assert(sizeof(T) <= detail::memory_command::max_pattern_bytes,
                "an object must not be larger than the pattern of a fill");
  return detail::use_access::make<T, Rank>(what, detail::access_mode::reduce,
                                           &detail::reduction_table<Op, T>::how);
}
/// Tasks that read a token have no order with each other. Each of them has an order with each task
/// that writes or updates the token.
[[nodiscard]] inline token_use read(token const& what) noexcept {
  return detail::use_access::make(what, detail::access_mode::read);
}
/// The task runs even if the last task that wrote or updated the token failed.
[[nodiscard]] inline token_use write(token& what) noexcept {
  return detail::use_access::make(what, detail::access_mode::write);
}
/// The task fails if the last task that wrote or updated the token failed.
[[nodiscard]] inline token_use update(token& what) noexcept {
  return detail::use_access::make(what, detail::access_mode::update);
}
/// As `update`, but tasks that commute on the token may run in any order (see above).
[[nodiscard]] inline token_use commute(token& what) noexcept {
  return detail::use_access::make(what, detail::access_mode::commute);
}

/// Lists the data of a callable or host task:
///
///     flow.submit(uses(read(a), update(b)),
///                 host_task([](view<float const> a, view<float> b) { … }));
template <class... Uses>
[[nodiscard]] data_list<Uses...> uses(Uses const&... each) {
  static_assert(sizeof...(Uses) <= detail::max_uses, "a task can use at most 16 data");
  return detail::use_access::list(each...);
}

}  // namespace v0_1
}  // namespace flotilla
