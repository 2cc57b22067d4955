// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a kernel executes.

#include <set>
#include <string_view>
#include <vector>

#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

/// A kernel executes its own statements, and those of the functions that it may call.
class call_graph {
 public:
  call_graph(ptx_module const& in, function const& kernel);

  /// The functions that the kernel may call.
  [[nodiscard]] std::vector<function const*> const& called() const& { return called_; }

 private:
  void visit(function const& f);
  void add(function const* f);

  ptx_module const& in_;
  std::set<std::string_view> seen_;
  std::vector<function const*> called_;
  std::vector<function const*> waiting_;
};

}  // namespace flotilla::make_twins
