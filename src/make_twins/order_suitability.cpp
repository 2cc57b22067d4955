// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/order_suitability.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "make_twins/call_graph.hpp"
#include "make_twins/order_code.hpp"
#include "make_twins/token_reader.hpp"

namespace flotilla::make_twins {
namespace {

constexpr std::uint64_t max_static_shared_bytes = 48 * 1024;

/// Instructions that read through caches of their own, or that work asynchronously on memory in a
/// way that only the end of the grid or special fences complete. `setmaxnreg` leaves some threads
/// too few registers for the code at the end.
bool is_unordered(std::string_view opcode) {
  static constexpr std::array<std::string_view, 13> prefixes = {
      "tex.",          "tld4.",      "suld.",    "sust.",    "sured.",    "ldu.",      "wgmma.",
      "cp.async.bulk", "cp.reduce.", "tcgen05.", "st.async", "red.async", "setmaxnreg"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return opcode.starts_with(prefix); });
}

std::uint64_t bytes_of_type(std::string_view type) {
  std::string_view const digits = type.substr(std::min<std::size_t>(type.size(), 2));
  return digits == "8" ? 1 : digits == "16" ? 2 : digits == "32" ? 4 : digits == "64" ? 8 : 16;
}

/// The bytes of all shared variables of the module, by name.
std::map<std::string_view, std::uint64_t> shared_variables(ptx_module const& in) {
  std::map<std::string_view, std::uint64_t> found;
  for (std::size_t i = 0; i < in.tokens.size(); ++i) {
    if (!in.tokens[i].is(".shared")) { continue; }
    std::uint64_t bytes = 0;
    std::string_view name;
    for (++i; i < in.tokens.size() && !in.tokens[i].is(";"); ++i) {
      token const& t = in.tokens[i];
      if (t.is(".align")) {
        ++i;
      } else if (t.text.starts_with('.')) {
        bytes = bytes_of_type(t.text);
      } else if (t.is("[")) {
        bytes *= i + 1 < in.tokens.size() && !in.tokens[i + 1].is("]") ? number(in.tokens[++i]) : 0;
      } else if (t.kind == token_kind::word) {
        name = t.text;
      }
    }
    found[name] = bytes;
  }
  return found;
}

}  // namespace

bool returns(statement const& s) {
  return s.opcode.is("ret") || s.opcode.is("ret.uni") || s.opcode.is("exit");
}

bool loads_through_texture_cache(statement const& s) {
  return s.opcode.text.starts_with("ld.global.nc");
}

bool can_be_ordered(ptx_module const& in, function const& kernel) {
  call_graph const calls(in, kernel);
  std::set<std::string_view> words;  // the operands
  auto const note = [&](function const& f) {
    for (statement const& s : f.statements) {
      for (token const& t : s.operands) { words.insert(t.text); }
    }
  };
  auto const is_unsuitable = [](statement const& s) { return is_unordered(s.opcode.text); };
  if (std::ranges::any_of(kernel.statements, is_unsuitable)) { return false; }
  note(kernel);
  for (function const* const f : calls.called()) {
    bool const suitable = std::ranges::none_of(f->statements, [&](statement const& s) {
      return is_unsuitable(s) || s.opcode.is("exit") || loads_through_texture_cache(s);
    });
    if (!suitable) { return false; }
    note(*f);
  }
  std::uint64_t bytes = 2 * order_shared_bytes;  // and what the alignment may cost
  for (auto const& [name, size] : shared_variables(in)) {
    if (words.contains(name)) { bytes += size; }
  }
  return bytes <= max_static_shared_bytes;
}

}  // namespace flotilla::make_twins
