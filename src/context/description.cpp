// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "context/description.hpp"

#include <array>
#include <cstdio>
#include <fstream>

#include "base/ascii.hpp"
#include "driver/check.hpp"

namespace flotilla::context {

namespace {

using driver::check;

int attribute(driver::table const& api, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(api.device_get_attribute(&value, which, device), "cuDeviceGetAttribute",
        [&] { return "device " + std::to_string(device); });
  return value;
}

std::string uuid_text(CUuuid const& uuid, device_kind kind) {
  std::string text = kind == device_kind::gpu ? "GPU-" : "CPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) { text += '-'; }
    text += two.data();
  }
  return text;
}

/// Reads the NUMA node of a GPU from sysfs, because the oldest supported drivers do not have an
/// attribute for the node. Returns -1 if the node is unknown.
int numa_node_of(std::string pci_id) {
  for (char& each : pci_id) { each = base::to_lower(each); }
  // sysfs writes the PCI domain with four digits, and the driver writes it with eight.
  if (pci_id.size() > 12) { pci_id = pci_id.substr(pci_id.size() - 12); }
  std::ifstream file{"/sys/bus/pci/devices/" + pci_id + "/numa_node"};
  int node = -1;
  return file >> node ? node : -1;
}

}  // namespace

device describe(driver::table const& api, int driver_ordinal) {
  auto const subject = [&] { return "device " + std::to_string(driver_ordinal); };
  device made;
  made.kind = api.kind;
  made.driver_ordinal = driver_ordinal;
  CUdevice handle = 0;
  check(api.device_get(&handle, driver_ordinal), "cuDeviceGet", subject);
  std::array<char, 256> name{};
  check(api.device_get_name(name.data(), static_cast<int>(name.size()), handle), "cuDeviceGetName",
        subject);
  made.name = name.data();
  CUuuid uuid{};
  check(api.device_get_uuid(&uuid, handle), "cuDeviceGetUuid", subject);
  made.uuid = uuid_text(uuid, api.kind);
  std::array<char, 32> pci{};
  check(api.device_get_pci_bus_id(pci.data(), static_cast<int>(pci.size()), handle),
        "cuDeviceGetPCIBusId", subject);
  made.pci_id = pci.data();
  made.multiprocessors = attribute(api, handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  check(api.device_total_mem(&made.memory_bytes, handle), "cuDeviceTotalMem", subject);
  if (api.kind == device_kind::gpu) { made.numa_node = numa_node_of(made.pci_id); }
  return made;
}

std::vector<device> describe_all(driver::table const& api, int count) {
  std::vector<device> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(describe(api, i));
    made.back().ordinal = device_ordinal{static_cast<unsigned>(i)};
  }
  return made;
}

std::string device_text(device const& one) {
  std::string const part = one.part < 0 ? "" : ", part " + std::to_string(one.part);
  return "device " + std::to_string(one.ordinal.value) + " (" + one.name + part + ")";
}

}  // namespace flotilla::context
