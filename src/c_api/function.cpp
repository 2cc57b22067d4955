// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include <flotilla/c/task.h>
#include <flotilla/error/error.hpp>
#include <flotilla/task/callable.hpp>

#include "c_api/call.hpp"
#include "c_api/objects.hpp"
#include "c_api/submit.hpp"
#include "c_api/task_context.hpp"
#include "c_api/user_pointer.hpp"

namespace flotilla::c_api {

namespace {

/// Calls a function of the program as the body of a task.
class function_call {
 public:
  function_call(flotilla_function function, user_pointer user, char const* label)
      : function_{function}, user_{std::move(user)}, label_{label == nullptr ? "" : label} {}
  void operator()(task_context& task) {
    flotilla_task_context const context = context_of(task);
    if (int const code = function_(user_.get(), &context); code != 0) {
      std::string const label = label_.empty() ? "" : ", label '" + label_ + "',";
      throw task_failed(code, "a function of the program" + label + " on device " +
                                  std::to_string(context.device) + " returned " +
                                  std::to_string(code));
    }
  }

 private:
  flotilla_function function_;
  user_pointer user_;
  std::string label_;
};

}  // namespace

}  // namespace flotilla::c_api

using namespace flotilla::c_api;

flotilla_status flotilla_submit_function(flotilla_runtime rt, flotilla_function function,
                                         void* user, void (*destroy)(void* user),
                                         flotilla_task_options const* options,
                                         flotilla_ticket* ticket) {
  return guarded_submit("flotilla_submit_function", ticket, [&] {
    user_pointer held{user, destroy};
    check_not_null(function, "function");
    char const* const label = options == nullptr ? nullptr : options->label;
    submit(object(rt).rt, flotilla::callable{function_call{function, std::move(held), label}},
           options, ticket);
  });
}
