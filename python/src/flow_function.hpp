// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python functions as tasks that use data.

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/callable.hpp>

#include "data.hpp"
#include "deferred.hpp"

namespace flotilla::python {

/// A Python function that gets the data of its task.
class data_function {
 public:
  /// @param owner  A Python object that the function keeps: its flow.
  data_function(nb::handle owner, nb::handle function);

  /// Adds a use. The function gets no argument for a token.
  void add(py_use const& use);
  /// Where the flow writes the places of the data. Call it after the last `add`.
  [[nodiscard]] std::span<detail::placed_data> places() {
    places_.resize(uses_.size());
    return places_;
  }

  /// Calls function(*arrays) with NumPy arrays. Takes the GIL.
  /// @throws python_failure    The function raises.
  ///         invalid_argument  The function keeps an array, whose memory it must not use later.
  void call_on_host();
  /// Calls function(task, *views). Takes the GIL.
  /// @throws python_failure  The function raises.
  void call(task_context& task);

 private:
  struct used {
    held_data::layout objects;
    bool is_read_only;
  };
  shared_object owner_;
  shared_object function_;
  std::vector<used> uses_;
  std::vector<detail::placed_data> places_;
};

void bind_data_views(nb::module_& to);

}  // namespace flotilla::python
