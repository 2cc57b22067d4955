// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/suitability.hpp"

#include <algorithm>
#include <array>
#include <flotilla/detail/kernel_twin.hpp>
#include <set>

#include "make_twins/call_graph.hpp"
#include "make_twins/token_reader.hpp"

namespace flotilla::make_twins {
namespace {

/// More bytes of arguments would make the records of a grid too large.
constexpr std::uint32_t max_parameter_bytes = 4096;

bool is_block_index(token const& t) {
  return t.kind == token_kind::word &&
         (t.text.starts_with("%ctaid") || t.text.starts_with("%nctaid"));
}

/// Whether the register tells a launch apart from a part of a larger launch.
bool is_launch_register(std::string_view word) {
  static constexpr std::array<std::string_view, 6> prefixes = {
      "%gridid", "%cluster", "%ncluster", "%is_explicit_cluster", "%envreg", "%current_graph_exec"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

/// Whether the instruction is about clusters, or about the grid as a whole.
bool is_launch_instruction(std::string_view opcode) {
  return opcode.find("cluster") != std::string_view::npos ||
         opcode.find("cta_group::2") != std::string_view::npos || opcode.starts_with("mapa") ||
         opcode.starts_with("getctarank") || opcode.starts_with("multimem") ||
         opcode.starts_with("griddepcontrol");
}

/// Functions of the CUDA runtime without a body in PTX. They do not depend on the index of a block.
bool is_harmless_external(std::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail";
}

/// Returns what a twin could not do in the same way, such as "reads %gridid".
std::string fault_of(function const& f) {
  for (statement const& s : f.statements) {
    if (is_launch_instruction(s.opcode.text)) {
      return "uses the instruction " + std::string(s.opcode.text);
    }
    bool const replaceable = f.is_kernel && copies_block_index(s);
    for (token const& t : s.operands) {
      if (t.kind == token_kind::word && is_launch_register(t.text)) {
        return "reads " + std::string(t.text);
      }
      if (is_block_index(t) && !replaceable) {
        return "reads " + std::string(t.text) +
               (f.is_kernel ? " with " + std::string(s.opcode.text) : std::string{});
      }
    }
  }
  if (!f.body && !is_harmless_external(f.name)) { return "is defined elsewhere"; }
  return {};
}

std::string fault_of_parameters(function const& kernel) {
  for (parameter const& p : kernel.parameters) {
    if (p.bytes == 0) {
      return "its parameter " + std::string(p.name) + " has the type " + std::string(p.type);
    }
  }
  if (kernel.parameter_bytes() > max_parameter_bytes) {
    return "its parameters have " + std::to_string(kernel.parameter_bytes()) +
           " bytes, more than " + std::to_string(max_parameter_bytes);
  }
  std::set<std::string_view> names;
  for (parameter const& p : kernel.parameters) { names.insert(p.name); }
  for (statement const& s : kernel.statements) {
    bool const replaceable = loaded_parameter(kernel, s).of != nullptr;
    for (token const& t : s.operands) {
      if (t.kind == token_kind::word && names.contains(t.text) && !replaceable) {
        return "it uses the address of its parameter " + std::string(t.text);
      }
    }
  }
  return {};
}

}  // namespace

bool copies_block_index(statement const& s) {
  if (!s.opcode.is("mov.u32") && !s.opcode.is("mov.s32") && !s.opcode.is("mov.b32")) {
    return false;
  }
  if (s.operands.size() != 3 || !is_block_index(s.operands[2])) { return false; }
  std::string_view const source = s.operands[2].text;
  return source.ends_with(".x") || source.ends_with(".y") || source.ends_with(".z");
}

parameter_address loaded_parameter(function const& kernel, statement const& s) {
  parameter_address const none{nullptr, 0, {}};
  std::string_view const opcode = s.opcode.text;
  if (!opcode.starts_with("ld.param.") && !opcode.starts_with("ld.param::entry.")) { return none; }
  std::size_t begin = 0;
  while (begin < s.operands.size() && !s.operands[begin].is("[")) { ++begin; }
  if (begin + 2 >= s.operands.size() || !s.operands.back().is("]")) { return none; }
  auto const tokens = s.operands.subspan(begin + 1, s.operands.size() - begin - 2);
  parameter const* const of = kernel.find_parameter(tokens[0].text);
  if (!of) { return none; }
  if (tokens.size() == 1) { return {of, 0, tokens}; }
  bool const negative = tokens.size() == 4 && tokens[2].is("-");
  if (!tokens[1].is("+") || (tokens.size() != 3 && !negative)) { return none; }
  if (char const digit = tokens.back().text[0]; digit < '0' || digit > '9') { return none; }
  auto const offset = std::int64_t{number(tokens.back())};
  return {of, negative ? -offset : offset, tokens};
}

bool twin_is_unwanted(ptx_module const& in, function const& kernel) {
  return in.names.contains(std::string(detail::no_twin_prefix) + std::string(kernel.name));
}

std::string why_unsuitable(ptx_module const& in, function const& kernel) {
  if (kernel.name.ends_with(detail::twin_suffix)) { return "it has the name of a twin"; }
  for (token const& t : kernel.directives) {
    if (t.text.find("cluster") != std::string_view::npos) {
      return "it has the directive " + std::string(t.text);
    }
  }
  if (std::string const fault = fault_of(kernel); !fault.empty()) { return "it " + fault; }
  if (std::string fault = fault_of_parameters(kernel); !fault.empty()) { return fault; }
  call_graph const calls(in, kernel);
  for (function const* f : calls.called()) {
    if (std::string const fault = fault_of(*f); !fault.empty()) {
      return "it may call " + std::string(f->name) + ", which " + fault;
    }
  }
  return {};
}

}  // namespace flotilla::make_twins
