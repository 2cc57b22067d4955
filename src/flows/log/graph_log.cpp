// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "flows/log/graph_log.hpp"

#include <new>
#include <utility>

#include "base/utf8.hpp"

namespace flotilla::flows {

namespace {

[[nodiscard]] std::string text_of(place where) {
  return where.is_host() ? "host" : "device " + std::to_string(where.device().value);
}

[[nodiscard]] std::string_view text_of(detail::access_mode mode) noexcept {
  switch (mode) {
    case detail::access_mode::read: return "read ";
    case detail::access_mode::write: return "write ";
    case detail::access_mode::update: return "update ";
    case detail::access_mode::commute: return "commute ";
    case detail::access_mode::reduce: break;  // the task updates a partial result
  }
  return {};
}

/// Returns the text in quotes, as Graphviz reads it: in UTF-8, and without control characters.
[[nodiscard]] std::string in_quotes(std::string_view text) {
  std::string made{'"'};
  for (char const each : base::as_utf8(text)) {
    if (each == '\n') {
      made += "\\n";
      continue;
    }
    if (each == '"' || each == '\\') { made += '\\'; }
    made += static_cast<unsigned char>(each) < ' ' || each == '\x7f' ? ' ' : each;
  }
  return made + '"';
}

}  // namespace

void graph_log::add_edges(dependency_list const& from, std::size_t to, bool is_weak) {
  for (task_id const& each : from.ids()) {
    auto const found = node_of_.find(each);
    if (found != node_of_.end()) { edges_.push_back({found->second, to, is_weak}); }
  }
}

void graph_log::add(task_id const& id, task_options const& options, std::string text) {
  std::size_t const node = nodes_.size();
  nodes_.push_back(std::move(text));
  add_edges(options.after, node, false);
  add_edges(options.after_end, node, true);
  node_of_[id] = node;
}

void graph_log::add_task(task_id const& id, task_options const& options,
                         std::span<detail::datum_use const> uses, place where) noexcept {
  if (!is_on_) { return; }
  try {
    std::string text{options.label.empty() ? "task" : options.label};
    text += '\n' + text_of(where);
    for (detail::datum_use const& use : uses) {
      text += '\n' + std::string{text_of(use.mode)} +
              (use.what->label.empty() ? use.what->text() : use.what->label);
    }
    add(id, options, "label=" + in_quotes(text) + ", shape=box");
  } catch (std::bad_alloc const&) { ++missing_; }
}

void graph_log::add_copy(task_id const& id, task_options const& options, detail::datum const& which,
                         place from, place to) noexcept {
  if (!is_on_) { return; }
  try {
    add(id, options,
        "label=" + in_quotes("copy " + which.text() + '\n' + text_of(from) + " to " + text_of(to)) +
            ", shape=ellipse");
  } catch (std::bad_alloc const&) { ++missing_; }
}

void graph_log::add_join(task_id const& id, task_options const& options,
                         detail::datum const& whole) noexcept {
  if (!is_on_) { return; }
  try {
    add(id, options, "label=" + in_quotes("join the tiles of " + whole.text()) + ", shape=ellipse");
  } catch (std::bad_alloc const&) { ++missing_; }
}

std::string graph_log::dot() const {
  std::string made = "digraph flow {\n";
  if (missing_ != 0) {
    made += "  // " + std::to_string(missing_) + " tasks are missing: there was no memory\n";
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    made += "  t" + std::to_string(i) + " [" + nodes_[i] + "];\n";
  }
  for (edge const& each : edges_) {
    made += "  t" + std::to_string(each.from) + " -> t" + std::to_string(each.to) +
            (each.is_weak ? " [style=dashed];\n" : ";\n");
  }
  return made + "}\n";
}

}  // namespace flotilla::flows
