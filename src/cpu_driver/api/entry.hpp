// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checks that all entry points share, in the order in which a GPU's driver makes them: whether
// the driver is initialised, whether a fault injection rule makes the call fail, whether the
// process is poisoned, and whether a context is current.

#include <cuda.h>

#include <algorithm>
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
  act_and_report,  // works, then returns the fault; for entry points that free something
  ignore           // works as before; for queries, and for the calling thread's stack
};

/// Returns the status for the exception that is being handled, and notes what the system refused.
[[nodiscard]] CUresult status_of_exception() noexcept;  // entry.cpp

/// Converts exceptions to statuses, because no exception may leave the C interface.
template <class Body>
CUresult guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) { return status_of_exception(); }
}

/// Returns CUDA_SUCCESS if the entry point may continue. Otherwise returns the status that the
/// entry point must return immediately.
[[nodiscard]] inline CUresult admit(char const* entry, when_poisoned rule) noexcept {
  if (CUresult const status = driver_state::get().ready()) { return status; }
  if (in_host_function()) { return CUDA_ERROR_NOT_PERMITTED; }
  if (injection::armed()) {
    if (CUresult const injected = injection::before(entry)) { return injected; }
  }
  return rule == when_poisoned::refuse ? fault::status() : CUDA_SUCCESS;
}

/// Returns whether the compute mode of a device prohibits contexts. Only a fault injection rule can
/// set this mode.
[[nodiscard]] inline bool prohibits_contexts(int ordinal) noexcept {
  return injection::armed() && injection::compute_mode(ordinal) == CU_COMPUTEMODE_PROHIBITED;
}

/// Returns the most urgent priority that streams of the device can have.
[[nodiscard]] inline int greatest_priority(int ordinal) noexcept {
  bool const has_priorities = !injection::armed() || injection::has_priorities(ordinal);
  return has_priorities ? stream::greatest_priority : stream::least_priority;
}
[[nodiscard]] inline int clamped_priority(int priority, int ordinal) noexcept {
  return std::clamp(priority, greatest_priority(ordinal), stream::least_priority);
}

/// Implements an entry point that needs no context.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_driver(char const* entry, Body&& body) noexcept {
  if (CUresult const status = admit(entry, rule)) { return status; }
  CUresult const answer = guarded(std::forward<Body>(body));
  if constexpr (rule == when_poisoned::act_and_report) {
    if (answer == CUDA_SUCCESS) { return fault::status(); }
  }
  return answer;
}

/// Holds references to the context that a handle names. The handle names either a whole context, or
/// a green context, which is a part of a primary context.
struct place {
  green_context::ref part;  // empty if the handle does not name a green context
  context::ref whole;       // the context itself, or the primary context that contains the part
  CUcontext handle = nullptr;

  [[nodiscard]] stream_group& streams() const noexcept {
    return part ? part->streams() : whole->streams();
  }
};

/// Finds a context by its handle, which must not be null. Returns false if the handle names no
/// context.
[[nodiscard]] inline bool find_place(CUcontext handle, place& found) noexcept {
  found.handle = handle;
  found.whole = context::table().find(handle);
  if (found.whole) { return true; }
  found.part = green_context::table().find(handle);
  if (found.part) { found.whole = context::table().find(found.part->whole().self()); }
  return static_cast<bool>(found.whole);
}

/// Finds the current context. Returns an error if no context is current, or if the current context
/// was destroyed.
[[nodiscard]] inline CUresult current_place(place& found) noexcept {
  CUcontext const top = context_stack::top();
  if (top == nullptr) { return CUDA_ERROR_INVALID_CONTEXT; }
  return find_place(top, found) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// Finds the current context. If a green context is current, finds its primary context instead.
[[nodiscard]] inline CUresult current_context(context::ref& found) noexcept {
  place here;
  if (CUresult const status = current_place(here)) { return status; }
  found = std::move(here.whole);
  return CUDA_SUCCESS;
}

/// Finds the context with this handle, or the current context if the handle is null.
[[nodiscard]] inline CUresult named_place(CUcontext handle, place& found) noexcept {
  if (handle == nullptr) { return current_place(found); }
  return find_place(handle, found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/// Implements an entry point that acts on the current context. If a green context is current, the
/// entry point acts on this green context.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_place(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    place here;
    if (CUresult const status = current_place(here)) { return status; }
    return body(here);
  });
}

/// Implements an entry point that acts on the current context. If a green context is current, the
/// entry point acts on its primary context.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_context(char const* entry, Body&& body) noexcept {
  return with_place<rule>(entry, [&](place& here) { return body(*here.whole); });
}

/// Implements a query that also works if the current context was destroyed. Calls `body` with the
/// destroyed_contexts::facts of the current context, whether or not the context was destroyed.
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

/// Implements an entry point that needs no current context, but fails if the current context was
/// destroyed.
template <when_poisoned rule, class Body>
CUresult with_context_or_none(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&] {
    place here;
    bool const none = context_stack::top() == nullptr;
    if (CUresult const status = none ? CUDA_SUCCESS : current_place(here)) { return status; }
    return body();
  });
}

/// Returns the status for a handle that names no stream.
[[nodiscard]] inline CUresult no_stream(CUstream handle) {
  return green_context::left_in_a_destroyed(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                    : CUDA_ERROR_INVALID_HANDLE;
}

/// Returns the fault of the process, or the one that is confined to the stream's device.
[[nodiscard]] inline CUresult fault_of(stream const& of) noexcept {
  return fault::status(of.resources().thread.device());
}

/// Implements an entry point that acts on a stream. A null handle means the NULL stream of the
/// current context. Other streams need no current context.
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
    if (!found) { return no_stream(handle); }
    if constexpr (rule == when_poisoned::refuse) {
      if (fault::any_confined()) {
        if (CUresult const status = fault_of(*found)) { return status; }
      }
    }
    return body(*found);
  });
}

/// Writes a result to the caller's variable. Returns an error if the pointer is null.
template <class Value>
[[nodiscard]] CUresult answer(Value* to, std::type_identity_t<Value> value) noexcept {
  if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *to = value;
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
