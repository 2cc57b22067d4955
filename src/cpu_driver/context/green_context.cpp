#include "cpu_driver/green_context.hpp"

#include <mutex>
#include <unordered_set>
#include <utility>

#include "cpu_driver/device.hpp"
#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {
namespace {

constexpr std::uintptr_t apart = 8;  // bytes from a context's handle, which ends in four zero bits

/// Streams that nobody destroyed before their green context. Handles are never given twice, so that
/// a set of them says for ever what became of them.
struct orphans {
  std::mutex mutex;
  std::unordered_set<CUstream> streams;

  static orphans& get() {
    static auto* const only = new orphans;  // as the driver's state: until the very end
    return *only;
  }
};

}  // namespace

CUcontext green_context::converted(CUgreenCtx handle) noexcept {
  auto const bits = reinterpret_cast<std::uintptr_t>(handle);
  return reinterpret_cast<CUcontext>(bits >= apart ? bits - apart : 0);
}

CUgreenCtx green_context::handle() const noexcept {
  return reinterpret_cast<CUgreenCtx>(reinterpret_cast<std::uintptr_t>(self_) + apart);
}

green_context::green_context(CUcontext self, whole_ref whole, multiprocessor_set allowed)
    : self_(self),
      whole_(std::move(whole)),
      id_(context::next_id()),
      allowed_(std::move(allowed)),
      streams_(*whole_, this, allowed_) {}

CUresult green_context::create(device& home, multiprocessor_set allowed, CUgreenCtx& made) {
  CUcontext primary_handle = nullptr;
  auto& primary = home.primary_context();
  if (CUresult const status = primary.retain(primary_handle)) { return status; }
  auto& state = driver_state::get();
  try {
    auto whole = state.contexts().find(primary_handle);
    if (!whole) {
      static_cast<void>(primary.release());
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;  // reset by another thread, this very moment
    }
    context& of = *whole;
    auto const opened = state.green_contexts().open(std::move(whole), std::move(allowed));
    try {
      of.add_part(opened->self());
    } catch (...) {
      end(opened->self());
      throw;
    }
    made = opened->handle();
  } catch (...) {
    static_cast<void>(primary.release());
    throw;
  }
  return CUDA_SUCCESS;
}

bool green_context::end(CUcontext converted) {
  auto& state = driver_state::get();
  auto const ended = state.green_contexts().find(converted);
  // Closed first, as a context is: of two threads that destroy, one goes on.
  if (!ended || !state.green_contexts().close(converted)) { return false; }
  auto const left = ended->streams().tear_down(ended->whole().patience());
  ended->whole().remove_part(converted);
  auto& known = orphans::get();
  std::lock_guard const lock(known.mutex);
  known.streams.insert(left.begin(), left.end());
  return true;
}

bool green_context::destroy(CUgreenCtx handle) {
  auto const of = driver_state::get().green_contexts().find(converted(handle));
  if (!of || !end(of->self())) { return false; }
  static_cast<void>(of->whole().home().primary_context().release());
  return true;
}

bool green_context::left_in_a_destroyed(CUstream which) {
  auto& known = orphans::get();
  std::lock_guard const lock(known.mutex);
  return known.streams.contains(which);
}

}  // namespace flotilla::cpu_driver
