// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/memory/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.hpp"
#include "base/memory_file.hpp"
#include "base/system_error.hpp"
#include "cpu_driver/memory/memory_account.hpp"

namespace flotilla::cpu_driver {

shared_memory& shared_memory::of_process() {
  static auto* const only = new shared_memory;
  return *only;
}

CUresult shared_memory::create(CUmemGenericAllocationHandle& made, std::size_t bytes,
                               memory_account& account) {
  if (!account.reserve(bytes, false)) { return CUDA_ERROR_OUT_OF_MEMORY; }
  int const descriptor = base::make_memory_file("flotilla device memory");
  // The seals keep a process that maps the memory from taking it away from the others.
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (descriptor < 0 || !base::set_file_size(descriptor, bytes) ||
      ::fcntl(descriptor, F_ADD_SEALS, seals) != 0) {
    int const why = errno;
    if (descriptor >= 0) { ::close(descriptor); }
    account.give_back(bytes);
    if (why == ENOMEM || why == ENOSPC) { return CUDA_ERROR_OUT_OF_MEMORY; }
    // The status says too little.
    base::log_format(log_level::error, "the system refuses a memfd for %zu bytes of memory: %s",
                     bytes, base::refusal_text(why).c_str());
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  made = add({descriptor, bytes, &account});
  return CUDA_SUCCESS;
}

CUresult shared_memory::import(CUmemGenericAllocationHandle& made, int descriptor) {
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || about.st_size <= 0 ||
      static_cast<std::size_t>(about.st_size) % shared_memory_granularity != 0 ||
      (::fcntl(descriptor, F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  int const copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) { return CUDA_ERROR_OPERATING_SYSTEM; }
  made = add({copy, static_cast<std::size_t>(about.st_size), nullptr});
  return CUDA_SUCCESS;
}

CUmemGenericAllocationHandle shared_memory::add(block const& made) {
  std::lock_guard const lock{mutex_};
  blocks_.emplace(next_, made);
  return next_++;
}

std::optional<shared_memory::block> shared_memory::find(CUmemGenericAllocationHandle handle) const {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(handle);
  return found != blocks_.end() ? std::optional{found->second} : std::nullopt;
}

bool shared_memory::release(CUmemGenericAllocationHandle handle) {
  std::lock_guard const lock{mutex_};
  auto const found = blocks_.find(handle);
  if (found == blocks_.end()) { return false; }
  ::close(found->second.descriptor);
  if (found->second.account != nullptr) { found->second.account->give_back(found->second.bytes); }
  blocks_.erase(found);
  return true;
}

}  // namespace flotilla::cpu_driver
