// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/add_twins.hpp"

#include <utility>

#include "make_twins/order_suitability.hpp"
#include "make_twins/ptx_module.hpp"
#include "make_twins/ptx_version.hpp"
#include "make_twins/suitability.hpp"
#include "make_twins/twin_writer.hpp"

namespace flotilla::make_twins {

module_with_twins add_twins(std::string_view ptx) {
  ptx_module const in = parse(ptx);
  module_with_twins result{{}, std::string(in.target), {}};
  if (in.debug) {
    result.unsuitable.push_back({"", "the module is compiled for debugging"});
    result.ptx = ptx;
    return result;
  }
  auto const version_at = static_cast<std::size_t>(in.version.data() - ptx.data());
  result.ptx = ptx.substr(0, version_at);
  result.ptx += oldest_version(in);
  std::size_t copied = version_at + in.version.size();
  for (function const& f : in.functions) {
    if (!f.is_kernel || !f.body || twin_is_unwanted(in, f)) { continue; }
    if (std::string reason = why_unsuitable(in, f); !reason.empty()) {
      result.unsuitable.push_back({std::string(f.name), std::move(reason)});
      continue;
    }
    result.ptx += ptx.substr(copied, f.end - copied);
    copied = f.end;
    result.ptx += "\n" + write_twin(f);
    if (can_be_ordered(in, f)) { result.ptx += write_ordered_twin(f); }
  }
  result.ptx += ptx.substr(copied);
  return result;
}

std::vector<std::string> report(std::vector<module_with_twins> const& modules) {
  struct line {
    unsuitable_kernel kernel;
    std::string targets;
    std::size_t count;
  };
  std::vector<line> lines;
  for (module_with_twins const& m : modules) {
    for (unsuitable_kernel const& k : m.unsuitable) {
      line* same = nullptr;
      for (line& l : lines) {
        if (l.kernel.name == k.name && l.kernel.reason == k.reason) { same = &l; }
      }
      if (!same) { same = &lines.emplace_back(line{k, "", 0}); }
      same->targets += (same->count++ == 0 ? "" : ", ") + m.target;
    }
  }
  std::vector<std::string> result;
  for (line const& l : lines) {
    std::string text = l.kernel.name.empty() ? "no twins" : "no twin of kernel " + l.kernel.name;
    if (l.count < modules.size()) { text += " for " + l.targets; }
    result.push_back(text + ": " + l.kernel.reason);
  }
  return result;
}

}  // namespace flotilla::make_twins
