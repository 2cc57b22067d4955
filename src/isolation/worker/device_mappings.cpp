// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "isolation/worker/device_mappings.hpp"

#include <cstdint>

#include <flotilla/error/driver_status.hpp>

#include "driver/check.hpp"
#include "isolation/protocol/layout.hpp"

namespace flotilla::isolated {

std::string device_mappings::reserve() {
  if (api_.mem_address_reserve == nullptr || api_.mem_import_from_shareable_handle == nullptr ||
      api_.mem_map == nullptr || api_.mem_set_access == nullptr || api_.mem_unmap == nullptr ||
      api_.mem_release == nullptr) {
    return "the driver cannot share device memory between processes";
  }
  CUdeviceptr made = 0;
  CUresult const answer =
      api_.mem_address_reserve(&made, device_bytes, 0, device_start(device_), 0);
  if (answer != CUDA_SUCCESS) {
    return "cuMemAddressReserve returned " + to_string(driver::status_of(answer));
  }
  if (made == device_start(device_)) { return {}; }
  api_.mem_address_free(made, device_bytes);
  return "the driver did not reserve the addresses that the owner has chosen";
}

CUresult device_mappings::map(CUdeviceptr address, std::size_t bytes, int passed) {
  CUmemGenericAllocationHandle handle = 0;
  CUresult answer = api_.mem_import_from_shareable_handle(
      &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(passed)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (answer != CUDA_SUCCESS) { return answer; }
  auto const known = mapped_.insert(address).first;
  answer = api_.mem_map(address, bytes, 0, handle, 0);
  // The mapping keeps the memory.
  api_.mem_release(handle);
  if (answer != CUDA_SUCCESS) {
    mapped_.erase(known);
    return answer;
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  answer = api_.mem_set_access(address, bytes, &access, 1);
  return answer;  // if it is no success, the owner asks for the block to be unmapped
}

CUresult device_mappings::unmap(CUdeviceptr address, std::size_t bytes) {
  if (mapped_.count(address) == 0) { return CUDA_SUCCESS; }
  CUresult const answer = api_.mem_unmap(address, bytes);
  if (answer == CUDA_SUCCESS) { mapped_.erase(address); }
  return answer;
}

}  // namespace flotilla::isolated
