// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Loading a table of driver entries: either the table is complete, or an error names the missing
// entry point.

#include <gtest/gtest.h>

#include <flotilla/error/error.hpp>

#include <map>
#include <string>

#include "driver/table.hpp"
#include "support/thrown.hpp"

namespace flotilla::driver {
namespace {

using test::HasSubstr;
using test::thrown;

struct entry {
  bool required;
  std::string name;
  int version;
  std::string symbol;
};

std::vector<entry> entries() {
  enum { required = true, optional = false };
  return {
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) {need, #name, version, #symbol},
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
  };
}

/// Finds all entry points except `missing`. The address that it returns for an entry is the address
/// of the symbol's name.
class catalogue {
 public:
  explicit catalogue(std::string missing = {}) : missing_{std::move(missing)} {}
  void* operator()(char const* name, int version, char const* symbol) {
    asked_[symbol] = std::string{name} + " " + std::to_string(version);
    return symbol == missing_ ? nullptr : const_cast<char*>(&*asked_.find(symbol)->first.data());
  }
  [[nodiscard]] std::map<std::string, std::string> const& asked() const { return asked_; }

 private:
  std::string missing_;
  std::map<std::string, std::string> asked_;
};

// requirement: `load` requests each entry by its name, its version and the name of its symbol
TEST(Load, AsksForEveryEntryByNameVersionAndSymbol) {
  catalogue all;
  table const made = load(std::ref(all), device_kind::gpu, "a test");
  EXPECT_EQ(made.origin, "a test");
  EXPECT_EQ(made.kind, device_kind::gpu);
  for (entry const& each : entries()) {
    EXPECT_EQ(all.asked().at(each.symbol), each.name + " " + std::to_string(each.version));
  }
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol) \
  EXPECT_STREQ(reinterpret_cast<char const*>(made.field), #symbol);
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
}

// requirement
TEST(Load, NamesAMissingRequiredEntry) {
  for (entry const& each : entries()) {
    if (!each.required) { continue; }
    EXPECT_THAT(
        thrown<no_device>([&] {
          static_cast<void>(load(catalogue{each.symbol}, device_kind::gpu, "libcuda of a test"));
        }),
        test::AllOf(HasSubstr(each.symbol), HasSubstr("libcuda of a test"), HasSubstr("12.4")));
  }
}

// requirement
TEST(Load, LeavesAMissingOptionalEntryEmpty) {
  table const made = load(catalogue{"cuCtxCreate_v4"}, device_kind::gpu, "");
  EXPECT_EQ(made.ctx_create_v4, nullptr);
  EXPECT_NE(made.ctx_create, nullptr);
}

}  // namespace
}  // namespace flotilla::driver
