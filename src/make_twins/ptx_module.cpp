// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "make_twins/ptx_module.hpp"

namespace flotilla::make_twins {

std::uint32_t function::parameter_bytes() const {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes;
}

parameter const* function::find_parameter(std::string_view wanted) const {
  for (parameter const& p : parameters) {
    if (p.name == wanted) { return &p; }
  }
  return nullptr;
}

function const* ptx_module::find_function(std::string_view name) const {
  auto const found = by_name.find(name);
  return found == by_name.end() ? nullptr : &functions[found->second];
}

}  // namespace flotilla::make_twins
