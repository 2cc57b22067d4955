// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Each entry of the driver table is forwarded, missing, or known to run in this process. An entry
// that is new in the table and forgotten in the forwarding driver would reach the driver of this
// process with handles of a worker.

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "unit/isolation/isolated_fixture.hpp"

namespace flotilla::test {
namespace {

class EntriesTest : public isolated_fixture {};

/// The entries that need no handle of a worker. They ask about the driver and its devices, or make
/// memory that no context owns, which is what the owner does for its workers.
std::set<std::string> const of_this_process{
    "init",
    "driver_get_version",
    "get_error_name",
    "get_error_string",
    "device_get",
    "device_get_attribute",
    "device_get_count",
    "device_get_exec_affinity_support",
    "device_get_name",
    "device_get_pci_bus_id",
    "device_get_uuid",
    "device_primary_ctx_get_state",
    "device_total_mem",
    "mem_address_free",
    "mem_address_reserve",
    "mem_create",
    "mem_export_to_shareable_handle",
    "mem_get_allocation_granularity",
    "mem_import_from_shareable_handle",
    "mem_map",
    "mem_release",
    "mem_set_access",
    "mem_unmap",
};

// requirement
TEST_F(EntriesTest, NoEntryIsForgotten) {
  driver::table const& base = on_gpus() ? *driver::gpu_driver().api : *driver::cpu_driver().api;
  std::set<std::string> kept;
  int forwarded = 0;
#define FLOTILLA_DRIVER_ENTRY(need, field, name, version, symbol)                   \
  if (api().field != nullptr && api().field == base.field) { kept.insert(#field); } \
  if (api().field != nullptr && api().field != base.field) { ++forwarded; }
#include "base/driver_entries.inc"
#undef FLOTILLA_DRIVER_ENTRY
  EXPECT_EQ(kept, of_this_process);
  EXPECT_GT(forwarded, 100);
}

}  // namespace
}  // namespace flotilla::test
