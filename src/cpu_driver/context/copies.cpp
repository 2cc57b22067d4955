// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/copies.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/memory/memory_map.hpp"
#include "cpu_driver/stream/execute.hpp"

namespace flotilla::cpu_driver {
namespace {

bool allowed(copy_end const& end, std::size_t bytes) {
  if (end.address == 0) { return false; }
  memory_map const& memory = memory_map::of_process();
  switch (end.what) {
    case copy_end::kind::device: return memory.covers(end.address, bytes);
    case copy_end::kind::host: return true;
    case copy_end::kind::either:
      return !memory.find(end.address) || memory.covers(end.address, bytes);
  }
  return false;
}

bool pageable(copy_end const& end) {
  return end.what != copy_end::kind::device && !memory_map::of_process().find(end.address);
}

bool allowed(fill_request const& wanted) {
  return wanted.address % wanted.width == 0 && wanted.elements <= ~std::size_t{0} / wanted.width &&
         memory_map::of_process().covers(wanted.address, wanted.elements * wanted.width);
}

fill_memory operation_of(fill_request const& wanted) noexcept {
  return {as_pointer(wanted.address), wanted.value, wanted.width, wanted.elements};
}

}  // namespace

CUresult check_copy(copy_end to, copy_end from, std::size_t bytes) {
  return allowed(to, bytes) && allowed(from, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_fill(fill_request const& wanted) {
  return allowed(wanted) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_now(stream_group& here, copy_end to, copy_end from, std::size_t bytes) {
  if (bytes == 0) { return CUDA_SUCCESS; }
  if (CUresult const status = check_copy(to, from, bytes)) { return status; }
  if (here.legacy_idle()) {
    // Nothing is pending, so the calling thread copies. A copy on the device thread would take
    // longer.
    if (CUresult const status = fault::status()) { return status; }
    std::memmove(as_pointer(to.address), as_pointer(from.address), bytes);
  } else {
    here.legacy().enqueue(copy_bytes{as_pointer(to.address), as_pointer(from.address), bytes, {}});
    here.legacy().synchronize(here.resources().flags.spin());
  }
  here.resources().fifo.flush();
  return fault::status();
}

CUresult copy_in(stream& target, copy_end to, copy_end from, std::size_t bytes) {
  if (bytes == 0) { return CUDA_SUCCESS; }
  if (CUresult const status = check_copy(to, from, bytes)) { return status; }
  bool const to_pageable = pageable(to);
  copy_bytes copy{as_pointer(to.address), as_pointer(from.address), bytes, {}};
  if (pageable(from) && !to_pageable) {
    copy.staged = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::memcpy(copy.staged.get(), copy.from, bytes);
  }
  target.enqueue(std::move(copy));
  if (!to_pageable) { return CUDA_SUCCESS; }
  target.synchronize(target.resources().flags.spin());
  return fault::status();
}

CUresult copy_all_in(stream& target, copy_batch const& batch) {
  std::size_t const count = batch.bytes.size();
  auto const ends = [&](std::size_t i) {
    return std::pair{copy_end::either(batch.to[i]), copy_end::either(batch.from[i])};
  };
  if (count == 0) { return CUDA_ERROR_INVALID_VALUE; }
  for (std::size_t i = 0; i < count; ++i) {
    auto const [to, from] = ends(i);
    if (batch.bytes[i] == 0) { return CUDA_ERROR_INVALID_VALUE; }
    if (CUresult const status = check_copy(to, from, batch.bytes[i])) { return status; }
  }
  for (std::size_t i = 0; i < count; ++i) {
    auto const [to, from] = ends(i);
    if (CUresult const status = copy_in(target, to, from, batch.bytes[i])) { return status; }
  }
  return CUDA_SUCCESS;
}

CUresult fill_now(stream_group& here, fill_request const& wanted) {
  if (wanted.elements == 0) { return CUDA_SUCCESS; }
  if (CUresult const status = check_fill(wanted)) { return status; }
  if (here.legacy_idle()) {
    if (CUresult const status = fault::status()) { return status; }
    execute_fill(operation_of(wanted));
  } else {
    here.legacy().enqueue(operation_of(wanted));
    here.legacy().synchronize(here.resources().flags.spin());
  }
  return fault::status();
}

CUresult fill_in(stream& target, fill_request const& wanted) {
  if (wanted.elements == 0) { return CUDA_SUCCESS; }
  if (CUresult const status = check_fill(wanted)) { return status; }
  target.enqueue(operation_of(wanted));
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
