// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/error/error.hpp>

#include "driver/table.hpp"

namespace flotilla::driver {

namespace {

enum class need { required, optional };

template <class Entry>
void fill(Entry& entry, resolver const& find, need how, std::string const& origin, char const* name,
          int version, char const* symbol) {
  entry = reinterpret_cast<Entry>(find(name, version, symbol));
  if (entry == nullptr && how == need::required) {
    throw no_device("the CUDA driver " + origin + " does not export " + symbol +
                    "; flotilla needs a driver of CUDA 12.4 or later");
  }
}

}  // namespace

table load(resolver const& find, device_kind kind, std::string origin) {
  table made;
#define FLOTILLA_DRIVER_ENTRY(needed, field, name, version, symbol) \
  fill(made.field, find, need::needed, origin, #name, version, #symbol);
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
  made.kind = kind;
  made.origin = std::move(origin);
  return made;
}

}  // namespace flotilla::driver
