// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Part of the stand-in for stdexec: when_all ([exec.when.all]) of senders that send no values.

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "senders.hpp"
#include "stop_token.hpp"

namespace stdexec {

// What the children share. The first error or stop requests a stop of the others.
template <class Receiver>
struct when_all_state {
  struct on_stop {
    void operator()() const noexcept { source->request_stop(); }
    inplace_stop_source* source;
  };
  using parent_token = stop_token_of_t<env_of_t<Receiver>>;

  when_all_state(Receiver to, std::size_t children) : receiver{std::move(to)}, left{children} {}
  void arrive() noexcept {
    if (left.fetch_sub(1) != 1) { return; }
    parent_stop.reset();
    if (error != nullptr) {
      set_error(std::move(receiver), std::move(error));
    } else if (stopped) {
      set_stopped(std::move(receiver));
    } else {
      set_value(std::move(receiver));
    }
  }
  void fail(std::exception_ptr why) noexcept {  // null: the child was stopped
    {
      std::lock_guard const lock{mutex};
      if (error == nullptr) { error = std::move(why); }
      stopped = true;
    }
    source.request_stop();
  }

  Receiver receiver;
  std::atomic<std::size_t> left;
  inplace_stop_source source;
  std::optional<typename parent_token::template callback_type<on_stop>> parent_stop;
  std::mutex mutex;
  std::exception_ptr error;
  bool stopped = false;
};

template <class Receiver>
struct when_all_receiver {
  struct environment {
    inplace_stop_token query(get_stop_token_t) const noexcept { return state->source.get_token(); }
    when_all_state<Receiver>* state;
  };
  using receiver_concept = receiver_tag;
  void set_value() && noexcept { state->arrive(); }
  void set_error(std::exception_ptr why) && noexcept {
    state->fail(std::move(why));
    state->arrive();
  }
  void set_stopped() && noexcept {
    state->fail(nullptr);
    state->arrive();
  }
  environment get_env() const noexcept { return {state}; }
  when_all_state<Receiver>* state;
};

// Makes an operation where it shall be, because operations need not be movable.
template <class Function>
struct emplaced_by {
  operator std::invoke_result_t<Function>() && { return std::move(make)(); }
  Function make;
};
template <class Function>
emplaced_by(Function) -> emplaced_by<Function>;

template <class Receiver, class... Senders>
class when_all_operation {
 public:
  using operation_state_concept = operation_state_tag;
  when_all_operation(Receiver to, std::tuple<Senders...>&& senders)
      : state_{std::move(to), sizeof...(Senders)},
        children_{std::apply(
            [this](Senders&... each) {
              return children{emplaced_by{[&each, this] {
                return connect(std::move(each), when_all_receiver<Receiver>{&state_});
              }}...};
            },
            senders)} {}
  when_all_operation(when_all_operation const&) = delete;
  when_all_operation& operator=(when_all_operation const&) = delete;

  void start() & noexcept {
    auto const token = get_stop_token(get_env(state_.receiver));
    state_.parent_stop.emplace(token, typename when_all_state<Receiver>::on_stop{&state_.source});
    if (state_.source.stop_requested()) {
      state_.parent_stop.reset();
      set_stopped(std::move(state_.receiver));
      return;
    }
    std::apply([](auto&... each) { (stdexec::start(each.operation), ...); }, children_);
  }

 private:
  template <class Sender>
  struct child {
    template <class Function>
    child(emplaced_by<Function> make) : operation(std::move(make)) {}
    connect_result_t<Sender, when_all_receiver<Receiver>> operation;
  };
  using children = std::tuple<child<Senders>...>;

  when_all_state<Receiver> state_;
  children children_;
};

template <class... Senders>
struct when_all_sender {
  using sender_concept = sender_tag;
  template <class, class...>
  static consteval auto get_completion_signatures() noexcept {
    return completion_signatures<set_value_t(), set_error_t(std::exception_ptr), set_stopped_t()>{};
  }
  template <receiver Receiver>
  when_all_operation<Receiver, Senders...> connect(Receiver to) && {
    return {std::move(to), std::move(senders)};
  }
  std::tuple<Senders...> senders;
};
struct when_all_t {
  template <sender... Senders>
  auto operator()(Senders&&... all) const {
    return when_all_sender<std::remove_cvref_t<Senders>...>{{std::forward<Senders>(all)...}};
  }
};
inline constexpr when_all_t when_all{};

}  // namespace stdexec
