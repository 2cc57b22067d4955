// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/c/cluster.h>
#include <flotilla/c/flow.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

#include "c_api/call.hpp"
#include "c_api/data_view.hpp"
#include "c_api/objects.hpp"
#include "c_api/submit.hpp"
#include "c_api/task_context.hpp"
#include "c_api/use_of.hpp"
#include "c_api/user_pointer.hpp"

namespace flotilla::c_api {

namespace {

flow_options flow_options_of(flotilla_flow_options const* given) {
  flow_options made;
  if (given == nullptr) { return made; }
  check_size(*given, "flotilla_flow_options");
  if (given->memory_limit != 0) { made.memory_limit = given->memory_limit; }
  return made;
}

void add(held_flow&& made, flotilla_flow& to) {
  held_runtime& owner = made.owner;
  to.id = flow_table::get().add(std::move(made));
  owner.flows.fetch_add(1);
}

/// A function of the program as the body of a task that uses data.
class data_function {
 public:
  data_function(flotilla_flow_function function, user_pointer user, held_flow const& flow,
                std::span<flotilla_use const> uses, char const* label)
      : function_{function}, user_{std::move(user)}, label_{label == nullptr ? "" : label} {
    if (uses.size() > detail::max_uses) {
      throw refused_call(FLOTILLA_INVALID_ARGUMENT,
                         "a task can use at most " + std::to_string(detail::max_uses) +
                             " data, but 'count' is " + std::to_string(uses.size()));
    }
    for (std::size_t i = 0; i < uses.size(); ++i) { add(flow, uses[i], i); }
    places_.resize(uses.size());
  }

  [[nodiscard]] std::span<detail::datum_use const> uses() const noexcept { return uses_; }
  /// Where the flow writes the addresses. The memory stays where it is.
  [[nodiscard]] std::span<detail::placed_data> places() noexcept { return places_; }

  /// @param context  Null in a host task.
  void call(flotilla_task_context const* context) {
    std::vector<flotilla_view> views = views_;
    for (std::size_t i = 0; i < views.size(); ++i) { set_place(views[i], places_[i], bytes_[i]); }
    if (int const code = function_(user_.get(), context, views.data()); code != 0) {
      throw task_failed(code, "a function of the program" +
                                  (label_.empty() ? "" : ", label '" + label_ + "',") +
                                  " returned " + std::to_string(code));
    }
  }

 private:
  void add(held_flow const& flow, flotilla_use const& given, std::size_t index) {
    try {
      uses_.push_back(use_of(flow, given));
    } catch (refused_call const& why) {
      throw refused_call(why.status(), "uses[" + std::to_string(index) + "]: " + why.what());
    }
    held_data const& data = object(given.data);
    views_.push_back(view_of(data));
    bytes_.push_back(data.object_bytes);
  }

  flotilla_flow_function function_;
  user_pointer user_;
  std::string label_;
  std::vector<detail::datum_use> uses_;
  std::vector<flotilla_view> views_;  // without places
  std::vector<std::size_t> bytes_;    // of the objects
  std::vector<detail::placed_data> places_;
};

using body_pointer = std::unique_ptr<data_function>;

/// The body of a callable.
struct device_body {
  body_pointer held;
  void operator()(task_context& task) const {
    flotilla_task_context const context = context_of(task);
    held->call(&context);
  }
};

/// Calls `submit_task`, which takes options and a pointer to a ticket that is null if the task is
/// posted.
template <class Submit>
void submit_to_flow(flotilla_task_options const* options, flotilla_ticket* ticket,
                    Submit const& submit_task) {
  task_options converted;
  if (options != nullptr) { converted = options_of(*options); }
  if (ticket == nullptr) { return submit_task(converted, static_cast<flotilla::ticket*>(nullptr)); }
  bool runs_here = true;
  hand_out(
      [&] {
        flotilla::ticket made;
        submit_task(converted, &made);
        runs_here = made.valid();
        return made;
      },
      *ticket);
  if (!runs_here) { ticket_table::get().remove(std::exchange(ticket->id, 0)); }
}

/// The pointer of the program and the function that destroys it, as the caller gave them.
struct given_user {
  void* pointer;
  void (*destroy)(void* user);
};

/// The uses as the caller gave them.
struct given_uses {
  flotilla_use const* first;
  std::size_t count;
};

/// Submits a function of the program.
/// @param name  The name of the function of the interface, for messages.
/// @param make  Makes the body of the task from a body_pointer.
template <class Make>
flotilla_status submit_data_function(char const* name, flotilla_flow flow,
                                     flotilla_flow_function function, given_user user,
                                     given_uses uses, flotilla_task_options const* options,
                                     flotilla_ticket* ticket, Make const& make) {
  return guarded_submit(name, ticket, [&] {
    user_pointer held{user.pointer, user.destroy};
    held_flow& to = object(flow);
    check_not_null(function, "function");
    auto body = std::make_unique<data_function>(function, std::move(held), to,
                                                uses_of(uses.first, uses.count, "uses"),
                                                options == nullptr ? nullptr : options->label);
    std::vector<detail::datum_use> const used{body->uses().begin(), body->uses().end()};
    auto const places = body->places();
    auto what = make(std::move(body));
    submit_to_flow(options, ticket, [&](task_options const& with, flotilla::ticket* end) {
      detail::submit_with_uses(to.held, used, places, what, with, end);
    });
  });
}

void run_iteration(int (*iteration)(void* user), void* user) {
  if (int const code = iteration(user); code != 0) {
    throw task_failed(code, "the iteration returned " + std::to_string(code));
  }
}

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_flow_create(flotilla_runtime rt, flotilla_flow_options const* options,
                                     flotilla_flow* made) {
  return guarded("flotilla_flow_create", [&] {
    required(made, "made").id = 0;
    held_runtime& owner = object(rt);
    add({owner, nullptr, flotilla::flow{owner.rt, flow_options_of(options)}}, *made);
  });
}

flotilla_status flotilla_flow_create_over(flotilla_cluster cluster,
                                          flotilla_flow_options const* options,
                                          flotilla_flow* made) {
  return guarded("flotilla_flow_create_over", [&] {
    required(made, "made").id = 0;
    held_cluster& over = object(cluster);
    add({over.owner, over.users, flotilla::flow{over.held, flow_options_of(options)}}, *made);
  });
}

flotilla_status flotilla_flow_destroy(flotilla_flow flow) {
  return guarded("flotilla_flow_destroy", [&] {
    end_object(flow_table::get(), flow.id, kinds::flow, &held_runtime::flows);
  });
}

flotilla_status flotilla_flow_submit_launch(flotilla_flow flow, flotilla_kernel kernel,
                                            flotilla_shape shape, flotilla_use const* arguments,
                                            size_t count, flotilla_task_options const* options,
                                            flotilla_ticket* ticket) {
  return guarded_submit("flotilla_flow_submit_launch", ticket, [&] {
    held_flow& to = object(flow);
    auto const made =
        data_launch_of(to, object(kernel), shape, uses_of(arguments, count, "arguments"));
    submit_to_flow(options, ticket, [&](flotilla::task_options const& with, flotilla::ticket* end) {
      end == nullptr ? to.held.post(made, with) : void(*end = to.held.submit(made, with));
    });
  });
}

flotilla_status flotilla_flow_submit_function(flotilla_flow flow, flotilla_flow_function function,
                                              void* user, void (*destroy)(void* user),
                                              flotilla_use const* uses, size_t count,
                                              flotilla_task_options const* options,
                                              flotilla_ticket* ticket) {
  return submit_data_function(
      "flotilla_flow_submit_function", flow, function, {user, destroy}, {uses, count}, options,
      ticket, [](body_pointer body) { return flotilla::callable{device_body{std::move(body)}}; });
}

flotilla_status flotilla_flow_submit_host(flotilla_flow flow, flotilla_flow_function function,
                                          void* user, void (*destroy)(void* user),
                                          flotilla_use const* uses, size_t count,
                                          flotilla_task_options const* options,
                                          flotilla_ticket* ticket) {
  return submit_data_function("flotilla_flow_submit_host", flow, function, {user, destroy},
                              {uses, count}, options, ticket, [](body_pointer body) {
                                return flotilla::detail::host_access::function_of(
                                    [held = std::move(body)] { held->call(nullptr); });
                              });
}

flotilla_status flotilla_flow_repeat(flotilla_flow flow, size_t count, int (*iteration)(void* user),
                                     void* user) {
  return guarded("flotilla_flow_repeat", [&] {
    check_not_null(iteration, "iteration");
    object(flow).held.repeat(count, [&] { run_iteration(iteration, user); });
  });
}

flotilla_status flotilla_flow_repeat_while(flotilla_flow flow, flotilla_data value,
                                           int (*goes_on)(void* user, flotilla_view const* value),
                                           int (*iteration)(void* user), void* user, size_t most,
                                           size_t check_every, size_t* count) {
  return guarded("flotilla_flow_repeat_while", [&] {
    check_not_null(goes_on, "goes_on");
    check_not_null(iteration, "iteration");
    held_data const& data = data_with_memory(value);
    flotilla_view view = view_of(data);
    std::size_t const done = flotilla::detail::repeat_while(
        object(flow).held, {data.state.get(), flotilla::detail::access_mode::read, nullptr},
        [&](flotilla::detail::placed_data const& at) {
          set_place(view, at, data.object_bytes);
          return goes_on(user, &view) != 0;
        },
        [&] { run_iteration(iteration, user); }, {.most = most, .check_every = check_every});
    if (count != nullptr) { *count = done; }
  });
}
