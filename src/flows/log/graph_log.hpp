// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of a flow and their predecessors, as a picture.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/task/task_id.hpp>
#include <flotilla/task/task_options.hpp>

#include "flows/data/datum.hpp"
#include "flows/log/task_key.hpp"

namespace flotilla::flows {

/// Threads: the caller holds the flow's mutex.
class graph_log {
 public:
  /// @param is_on  Otherwise nothing is kept, and each call costs a branch.
  explicit graph_log(bool is_on) noexcept : is_on_(is_on) {}

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  /// Adds a task that was submitted. If there is no memory for it, the picture lacks the task.
  void add_task(task_id const& id, task_options const& options,
                std::span<detail::datum_use const> uses, place where) noexcept;
  void add_copy(task_id const& id, task_options const& options, detail::datum const& which,
                place from, place to) noexcept;
  /// Adds the task that joins tiles.
  void add_join(task_id const& id, task_options const& options,
                detail::datum const& whole) noexcept;
  /// Returns the tasks in the language of Graphviz.
  [[nodiscard]] std::string dot() const;

 private:
  struct edge {
    std::size_t from, to;  // nodes
    bool is_weak;          // the failure of `from` does not matter
  };

  /// Adds a node, and edges from those predecessors that are in the picture.
  void add(task_id const& id, task_options const& options, std::string text);
  void add_edges(dependency_list const& from, std::size_t to, bool is_weak);

  bool const is_on_;
  std::vector<std::string> nodes_;  // attributes in the language of Graphviz
  std::vector<edge> edges_;
  task_map<std::size_t> node_of_;
  std::size_t missing_ = 0;  // tasks for which there was no memory
};

}  // namespace flotilla::flows
