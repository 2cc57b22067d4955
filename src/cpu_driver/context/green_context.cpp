// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/context/green_context.hpp"

#include <mutex>
#include <unordered_set>
#include <utility>

#include "cpu_driver/context/device.hpp"

namespace flotilla::cpu_driver {
namespace {

// The difference in bytes between the CUgreenCtx and the CUcontext of a green context. The four
// lowest bits of a CUcontext are zero, so a CUgreenCtx is never a valid CUcontext.
constexpr std::uintptr_t apart = 8;

/// Streams that were open when their green context ended. Stream handles are never reused, so an
/// entry never names a newer stream.
struct orphans {
  std::mutex mutex;
  std::unordered_set<CUstream> streams;

  static orphans& get() {
    static auto* const only = new orphans;  // never destroyed, like handle tables
    return *only;
  }
};

}  // namespace

CUcontext green_context::converted(CUgreenCtx handle) noexcept {
  auto const bits = reinterpret_cast<std::uintptr_t>(handle);
  return reinterpret_cast<CUcontext>(bits >= apart ? bits - apart : 0);
}

CUgreenCtx green_context::green_handle(CUcontext converted) noexcept {
  auto const bits = reinterpret_cast<std::uintptr_t>(converted);
  return reinterpret_cast<CUgreenCtx>(bits != 0 ? bits + apart : 0);
}

green_context::green_context(CUcontext self, context::ref whole, multiprocessor_set allowed)
    : self_(self),
      whole_(std::move(whole)),
      id_(next_context_id()),
      allowed_(std::move(allowed)),
      streams_(whole_->resources(), self, allowed_) {}

CUresult green_context::create(device& home, multiprocessor_set allowed, CUgreenCtx& made) {
  CUcontext primary_handle = nullptr;
  auto& primary = home.primary_context();
  if (CUresult const status = primary.retain(primary_handle)) { return status; }
  try {
    auto whole = context::table().find(primary_handle);
    if (!whole) {
      static_cast<void>(primary.release());
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;  // another thread has just reset the primary context
    }
    context& primary_context = *whole;
    auto const opened = green_context::table().open(std::move(whole), std::move(allowed));
    try {
      primary_context.add_part(opened->self());
    } catch (...) {
      end(opened->self());
      throw;
    }
    made = green_handle(opened->self());
  } catch (...) {
    static_cast<void>(primary.release());
    throw;
  }
  return CUDA_SUCCESS;
}

bool green_context::end(CUcontext converted) {
  auto const ended = green_context::table().find(converted);
  // Close the handle before anything else, as in context::destroy(). If two threads end the green
  // context, close() succeeds in only one of them.
  if (!ended || !green_context::table().close(converted)) { return false; }
  auto const left = ended->streams().tear_down(ended->whole().resources().flags.spin());
  ended->whole().remove_part(converted);
  auto& known = orphans::get();
  std::lock_guard const lock(known.mutex);
  known.streams.insert(left.begin(), left.end());
  return true;
}

bool green_context::destroy(CUgreenCtx handle) {
  auto const green = green_context::table().find(converted(handle));
  if (!green || !end(green->self())) { return false; }
  static_cast<void>(green->whole().home().primary_context().release());
  return true;
}

bool green_context::left_in_a_destroyed(CUstream which) {
  auto& known = orphans::get();
  std::lock_guard const lock(known.mutex);
  return known.streams.contains(which);
}

}  // namespace flotilla::cpu_driver
