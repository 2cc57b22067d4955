// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/call_graph.hpp"

#include "make_twins/token_reader.hpp"

namespace flotilla::make_twins {
namespace {

bool calls_indirectly(statement const& s) {
  if (s.opcode.text != "call" && !s.opcode.text.starts_with("call.")) { return false; }
  token_reader in(s.operands);
  if (in.sees("(")) {  // the result
    in.take_brackets();
    in.skip_if(",");
  }
  return !in.at_end() && in.peek("a function").text.starts_with('%');
}

}  // namespace

call_graph::call_graph(ptx_module const& in, function const& kernel) : in_(in) {
  visit(kernel);
  while (!waiting_.empty()) {
    function const& next = *waiting_.back();
    waiting_.pop_back();
    visit(next);
  }
}

void call_graph::visit(function const& f) {
  for (statement const& s : f.statements) {
    // Without knowing the target of an indirect call, assume every function.
    if (calls_indirectly(s)) {
      for (function const& any : in_.functions) { add(&any); }
    }
    for (token const& t : s.operands) {
      if (t.kind == token_kind::word) { add(in_.find_function(t.text)); }
    }
  }
}

void call_graph::add(function const* f) {
  if (!f || f->is_kernel || !seen_.insert(f->name).second) { return; }
  called_.push_back(f);
  waiting_.push_back(f);
}

}  // namespace flotilla::make_twins
