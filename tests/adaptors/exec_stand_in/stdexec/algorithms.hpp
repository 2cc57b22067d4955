// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Part of the stand-in for stdexec: the sender algorithms that the tests use ([exec.just],
// [exec.then], [exec.sync.wait]). when_all.hpp has [exec.when.all].

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "senders.hpp"

namespace stdexec {

// Sets of completion signatures.
template <class Set, class... Signatures>
struct add_signatures {
  using type = Set;
};
template <class... Old, class First, class... Rest>
struct add_signatures<completion_signatures<Old...>, First, Rest...>
    : add_signatures<
          std::conditional_t<(std::same_as<Old, First> || ...), completion_signatures<Old...>,
                             completion_signatures<Old..., First>>,
          Rest...> {};

// [exec.just]
template <class... Values>
struct just_sender {
  using sender_concept = sender_tag;
  template <class, class...>
  static consteval auto get_completion_signatures() noexcept {
    return completion_signatures<set_value_t(Values...)>{};
  }
  template <class Receiver>
  struct operation {
    using operation_state_concept = operation_state_tag;
    void start() & noexcept {
      std::apply([this](auto&... all) { set_value(std::move(receiver), std::move(all)...); },
                 values);
    }
    std::tuple<Values...> values;
    Receiver receiver;
  };
  template <receiver Receiver>
  operation<Receiver> connect(Receiver to) const {
    return {values, std::move(to)};
  }
  std::tuple<Values...> values;
};
struct just_t {
  template <class... Values>
  constexpr auto operator()(Values&&... values) const {
    return just_sender<std::decay_t<Values>...>{{std::forward<Values>(values)...}};
  }
};
inline constexpr just_t just{};

// [exec.then]
template <class Result>
struct value_signature {
  using type = set_value_t(Result);
};
template <>
struct value_signature<void> {
  using type = set_value_t();
};
template <class Function, class Set, class... Signatures>
struct then_signatures {
  using type = typename add_signatures<Set, set_error_t(std::exception_ptr)>::type;
};
template <class Function, class Set, class... Values, class... Rest>
struct then_signatures<Function, Set, set_value_t(Values...), Rest...>
    : then_signatures<
          Function,
          typename add_signatures<
              Set, typename value_signature<std::invoke_result_t<Function, Values...>>::type>::type,
          Rest...> {};
template <class Function, class Set, class Other, class... Rest>
struct then_signatures<Function, Set, Other, Rest...>
    : then_signatures<Function, typename add_signatures<Set, Other>::type, Rest...> {};
template <class Function, class Set>
struct then_of;
template <class Function, class... Signatures>
struct then_of<Function, completion_signatures<Signatures...>>
    : then_signatures<Function, completion_signatures<>, Signatures...> {};

template <class Receiver, class Function>
struct then_receiver {
  using receiver_concept = receiver_tag;
  template <class... Values>
  void set_value(Values&&... values) && noexcept {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Function, Values...>>) {
        std::invoke(std::move(function), std::forward<Values>(values)...);
        stdexec::set_value(std::move(receiver));
      } else {
        stdexec::set_value(std::move(receiver),
                           std::invoke(std::move(function), std::forward<Values>(values)...));
      }
    } catch (...) { stdexec::set_error(std::move(receiver), std::current_exception()); }
  }
  template <class Error>
  void set_error(Error&& error) && noexcept {
    stdexec::set_error(std::move(receiver), std::forward<Error>(error));
  }
  void set_stopped() && noexcept { stdexec::set_stopped(std::move(receiver)); }
  decltype(auto) get_env() const noexcept { return stdexec::get_env(receiver); }
  Receiver receiver;
  Function function;
};

template <class Sender, class Function>
struct then_sender {
  using sender_concept = sender_tag;
  template <class, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    return typename then_of<Function, completion_signatures_of_t<Sender, Env...>>::type{};
  }
  template <class Receiver>
  struct operation {
    using operation_state_concept = operation_state_tag;
    void start() & noexcept { stdexec::start(child); }
    connect_result_t<Sender, then_receiver<Receiver, Function>> child;
  };
  template <receiver Receiver>
  operation<Receiver> connect(Receiver to) && {
    return {stdexec::connect(
        std::move(sender), then_receiver<Receiver, Function>{std::move(to), std::move(function)})};
  }
  Sender sender;
  Function function;
};
struct then_t {
  template <sender Sender, class Function>
  auto operator()(Sender&& of, Function&& function) const {
    return then_sender<std::remove_cvref_t<Sender>, std::decay_t<Function>>{
        std::forward<Sender>(of), std::forward<Function>(function)};
  }
};
inline constexpr then_t then{};

// [exec.sync.wait]. The standard's environment also has a scheduler, which runs on the waiting
// thread.
template <class>
struct values_of;
template <class Signature, class... Rest>
struct values_of<completion_signatures<Signature, Rest...>>
    : values_of<completion_signatures<Rest...>> {};
template <class... Values, class... Rest>
struct values_of<completion_signatures<set_value_t(Values...), Rest...>> {
  using type = std::tuple<std::decay_t<Values>...>;  // the only value signature of the sender
};

template <class Values>
struct sync_wait_state {
  void finish() {
    std::lock_guard const lock{mutex};  // the waiting thread destroys the state after the unlock
    done = true;
    ended.notify_all();
  }
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr error;
  std::optional<Values> values;
};
template <class Values>
struct sync_wait_receiver {
  using receiver_concept = receiver_tag;
  template <class... Sent>
  void set_value(Sent&&... sent) && noexcept {
    state->values.emplace(std::forward<Sent>(sent)...);
    state->finish();
  }
  void set_error(std::exception_ptr why) && noexcept {
    state->error = std::move(why);
    state->finish();
  }
  void set_stopped() && noexcept { state->finish(); }
  sync_wait_state<Values>* state;
};
struct sync_wait_t {
  template <class Sender>
  requires sender_in<Sender, env<>>
  auto operator()(Sender&& of) const {
    using values = typename values_of<completion_signatures_of_t<Sender, env<>>>::type;
    sync_wait_state<values> state;
    auto operation = connect(std::forward<Sender>(of), sync_wait_receiver<values>{&state});
    start(operation);
    std::unique_lock lock{state.mutex};
    state.ended.wait(lock, [&] { return state.done; });
    if (state.error != nullptr) { std::rethrow_exception(std::move(state.error)); }
    return std::move(state.values);
  }
};
inline constexpr sync_wait_t sync_wait{};

}  // namespace stdexec
