#pragma once
// The checks that entry points have in common, in the order of a GPU's driver: whether the driver
// is initialised, whether a call is injected to fail, whether the process is poisoned, whether a
// context is current.

#include <cuda.h>

#include <new>
#include <type_traits>
#include <utility>

#include "cpu_driver/context/context.hpp"
#include "cpu_driver/context/context_stack.hpp"
#include "cpu_driver/context/destroyed_contexts.hpp"
#include "cpu_driver/context/device.hpp"
#include "cpu_driver/context/driver_state.hpp"
#include "cpu_driver/context/green_context.hpp"
#include "cpu_driver/fault/fault.hpp"
#include "cpu_driver/fault/injection.hpp"
#include "cpu_driver/stream/execute.hpp"

namespace flotilla::cpu_driver {

/// The behaviour of an entry point after a fault has poisoned the process.
enum class when_poisoned {
  refuse,          // returns the fault and does nothing
  act_and_report,  // works, and returns the fault: entry points that free something
  ignore           // works as before: questions, and the calling thread's stack of contexts
};

/// Turns exceptions into statuses: no exception leaves the C interface.
template <class Body>
CUresult guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (std::bad_alloc const&) { return CUDA_ERROR_OUT_OF_MEMORY; } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// CUDA_SUCCESS if the entry point may act, else the status that it returns at once.
[[nodiscard]] inline CUresult admit(char const* entry, when_poisoned rule) noexcept {
  if (CUresult const status = driver_state::get().ready()) { return status; }
  if (in_host_function()) { return CUDA_ERROR_NOT_PERMITTED; }
  if (injection::armed()) {
    if (CUresult const injected = injection::before(entry)) { return injected; }
  }
  return rule == when_poisoned::refuse ? fault::status() : CUDA_SUCCESS;
}

/// An entry point that needs no context.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_driver(char const* entry, Body&& body) noexcept {
  if (CUresult const status = admit(entry, rule)) { return status; }
  CUresult const answer = guarded(std::forward<Body>(body));
  if constexpr (rule == when_poisoned::act_and_report) {
    if (answer == CUDA_SUCCESS) { return fault::status(); }
  }
  return answer;
}

/// The context that a handle names, kept alive: a whole context, or a green context, which is a
/// part of a primary context.
struct place {
  green_context::ref part;  // empty if the handle does not name a green context
  context::ref whole;       // the context itself, or the one that the part belongs to
  CUcontext handle = nullptr;

  [[nodiscard]] stream_group& streams() const noexcept {
    return part ? part->streams() : whole->streams();
  }
};

/// Finds a context by a handle that is not null. False if there is none (any more).
[[nodiscard]] inline bool find_place(CUcontext handle, place& found) noexcept {
  found.handle = handle;
  found.whole = context::table().find(handle);
  if (found.whole) { return true; }
  found.part = green_context::table().find(handle);
  if (found.part) { found.whole = context::table().find(found.part->whole().self()); }
  return static_cast<bool>(found.whole);
}

/// Finds the current context, or returns the status that says why there is none.
[[nodiscard]] inline CUresult current_place(place& found) noexcept {
  CUcontext const top = context_stack::top();
  if (top == nullptr) { return CUDA_ERROR_INVALID_CONTEXT; }
  return find_place(top, found) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// Finds the current context, or the primary context if a green context is current.
[[nodiscard]] inline CUresult current_context(context::ref& found) noexcept {
  place here;
  if (CUresult const status = current_place(here)) { return status; }
  found = std::move(here.whole);
  return CUDA_SUCCESS;
}

/// Finds the context of that handle, or the current context if the handle is null.
[[nodiscard]] inline CUresult named_place(CUcontext handle, place& found) noexcept {
  if (handle == nullptr) { return current_place(found); }
  return find_place(handle, found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/// An entry point that acts on the current context and distinguishes green contexts.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_place(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    place here;
    if (CUresult const status = current_place(here)) { return status; }
    return body(here);
  });
}

/// An entry point that acts on the current context, or on the primary context if a green context is
/// current.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_context(char const* entry, Body&& body) noexcept {
  return with_place<rule>(entry, [&](place& here) { return body(*here.whole); });
}

/// A question that even a destroyed context answers to a thread that has it current. Calls `body`
/// with the destroyed_contexts::facts of the context, destroyed or not.
template <class Body>
CUresult with_facts(char const* entry, Body&& body) noexcept {
  return with_driver<when_poisoned::ignore>(entry, [&] {
    place here;
    CUresult const status = current_place(here);
    if (status == CUDA_SUCCESS) {
      return body(destroyed_contexts::facts{here.whole->home().ordinal(),
                                            here.whole->resources().flags.get()});
    }
    auto const known = status == CUDA_ERROR_CONTEXT_IS_DESTROYED
                           ? destroyed_contexts::find(here.handle)
                           : std::nullopt;
    return known ? body(*known) : status;
  });
}

/// An entry point that works with and without a current context, but not with a destroyed one.
template <when_poisoned rule, class Body>
CUresult with_context_or_none(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    place here;
    bool const none = context_stack::top() == nullptr;
    if (CUresult const status = none ? CUDA_SUCCESS : current_place(here)) { return status; }
    return body();
  });
}

/// The status for a handle that is not a stream.
[[nodiscard]] inline CUresult no_stream(CUstream handle) {
  return green_context::left_in_a_destroyed(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                    : CUDA_ERROR_INVALID_HANDLE;
}

/// An entry point that acts on a stream. The NULL stream is that of the current context. Other
/// streams need no current context.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_stream(char const* entry, CUstream handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
      place here;
      if (CUresult const status = current_place(here)) { return status; }
      if (handle == CU_STREAM_PER_THREAD) { return CUDA_ERROR_NOT_SUPPORTED; }
      return body(here.streams().legacy());
    }
    auto const found = stream::table().find(handle);
    return found ? body(*found) : no_stream(handle);
  });
}

/// Writes a result to the caller's variable.
template <class Value>
[[nodiscard]] CUresult answer(Value* to, std::type_identity_t<Value> value) noexcept {
  if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *to = value;
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
