// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/base/entry_names.hpp"

#include <algorithm>
#include <iterator>

namespace flotilla::cpu_driver {
namespace {

constexpr std::string_view names[] = {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) #name,
#include "base/driver_entries.inc"
#include "cpu_driver/base/extra_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
};

}  // namespace

bool is_entry(std::string_view name) noexcept {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace flotilla::cpu_driver
