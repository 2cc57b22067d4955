// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/api/resolver.hpp"

#include <string_view>

#include "cpu_driver/api/api.hpp"

// In the drop-in, <cuda.h> declares the entry points. Some of these declarations are deprecated.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace flotilla::cpu_driver {
namespace {

struct entry {
  char const* name;
  int version;
  void* address;
};

// Calls `visit` for every entry point. A constexpr array is impossible, because the conversion of a
// function pointer to void* is not a constant expression.
template <class Visit>
void for_each_entry(Visit visit) noexcept {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) \
  visit(entry{#name, version, reinterpret_cast<void*>(&symbol)});
#include "base/driver_entries.inc"
#include "cpu_driver/base/extra_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
}

}  // namespace

void* resolve(char const* name, int version) noexcept {
  entry best{nullptr, -1, nullptr};
  for_each_entry([&](entry const& each) {
    if (name == std::string_view(each.name) && each.version <= version &&
        each.version > best.version) {
      best = each;
    }
  });
  return best.address;
}

}  // namespace flotilla::cpu_driver
