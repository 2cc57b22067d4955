// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Entry points for devices and their attributes.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cpu_driver/api/api.hpp"
#include "cpu_driver/api/entry.hpp"
#include "cpu_driver/base/raw_enum.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/properties/device_properties.hpp"

namespace flotilla::cpu_driver {
namespace {

/// Implements a query about a device. The query works even after a fault.
template <class Body>
CUresult about_device(char const* entry, CUdevice ordinal, Body&& body) noexcept {
  return with_driver<when_poisoned::ignore>(entry, [&] {
    device* const found = driver_state::get().find_device(ordinal);
    return found != nullptr ? body(*found) : CUDA_ERROR_INVALID_DEVICE;
  });
}

/// Returns the value of an attribute that a fault injection rule can change. Returns `usual` for
/// other attributes.
int injected_attribute(int which, int ordinal, int usual) noexcept {
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) { return injection::compute_mode(ordinal); }
  if (which == CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) {
    return injection::has_priorities(ordinal) ? usual : 0;
  }
  return usual;
}

CUresult copy_text(char const* text, char* to, int bytes) noexcept {
  if (to == nullptr || bytes <= 0) { return CUDA_ERROR_INVALID_VALUE; }
  std::snprintf(to, static_cast<std::size_t>(bytes), "%s", text);
  return CUDA_SUCCESS;
}

CUresult get_uuid(char const* entry, CUuuid* uuid, CUdevice ordinal) noexcept {
  return about_device(entry, ordinal, [&](device& asked) {
    if (uuid == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *uuid = properties::uuid(asked.ordinal());
    return CUDA_SUCCESS;
  });
}

}  // namespace

FLOTILLA_CPU_API CUresult cuDeviceGet(CUdevice* found, int ordinal) {
  return about_device(__func__, ordinal, [&](device& asked) {
    if (found == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *found = asked.ordinal();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetCount(int* count) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (count == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *count = driver_state::get().device_count();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice ordinal) {
  return about_device(__func__, ordinal,
                      [&](device&) { return copy_text(properties::name, name, bytes); });
}

FLOTILLA_CPU_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return get_uuid(__func__, uuid, ordinal);
}

FLOTILLA_CPU_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return get_uuid(__func__, uuid, ordinal);
}

FLOTILLA_CPU_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which,
                                               CUdevice ordinal) {
  return about_device(__func__, ordinal, [&](device& asked) {
    auto known = properties::attribute(raw_enum(which), asked.ordinal());
    if (value == nullptr || !known) { return CUDA_ERROR_INVALID_VALUE; }
    if (injection::armed()) {
      known = injected_attribute(raw_enum(which), asked.ordinal(), *known);
    }
    *value = *known;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice ordinal) {
  return about_device(__func__, ordinal, [&](device& asked) {
    if (bytes == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *bytes = asked.memory().capacity();
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice ordinal) {
  return about_device(__func__, ordinal, [&](device& asked) {
    char id[16];
    std::snprintf(id, sizeof id, "%04X:%02X:00.0", properties::pci_domain, asked.ordinal() + 1);
    return copy_text(id, text, bytes);
  });
}

FLOTILLA_CPU_API CUresult cuDeviceGetByPCIBusId(CUdevice* found, char const* text) {
  return with_driver<when_poisoned::ignore>(__func__, [&] {
    if (found == nullptr || text == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    unsigned domain = 0;
    unsigned bus = 0;
    unsigned slot = 0;
    if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    bool const ours =
        domain == static_cast<unsigned>(properties::pci_domain) && slot == 0 && bus >= 1;
    if (!ours || driver_state::get().find_device(static_cast<int>(bus) - 1) == nullptr) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    *found = static_cast<int>(bus) - 1;
    return CUDA_SUCCESS;
  });
}

FLOTILLA_CPU_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice ordinal) {
  return about_device(__func__, ordinal, [&](device&) {
    if (major == nullptr || minor == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
    *major = *properties::attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal);
    *minor = *properties::attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal);
    return CUDA_SUCCESS;
  });
}

}  // namespace flotilla::cpu_driver
