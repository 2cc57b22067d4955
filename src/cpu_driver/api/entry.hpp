#pragma once
// What every entry point has in common, in the order a real driver checks it: is the driver there,
// does an injection speak, is the process poisoned, is a context current.

#include <cuda.h>

#include <new>
#include <type_traits>
#include <utility>

#include "cpu_driver/context.hpp"
#include "cpu_driver/context_stack.hpp"
#include "cpu_driver/corpses.hpp"
#include "cpu_driver/device.hpp"
#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/fault.hpp"
#include "cpu_driver/injection.hpp"
#include "cpu_driver/perform.hpp"

namespace flotilla::cpu_driver {

/// What an entry does once a fault has poisoned the process.
enum class when_poisoned {
  refuse,          // answers the fault and does nothing
  act_and_report,  // frees what it is asked to free, and answers the fault
  ignore           // works as ever: what concerns this thread's stack, and questions
};

/// No exception leaves the C interface.
template <class Body>
CUresult guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (std::bad_alloc const&) { return CUDA_ERROR_OUT_OF_MEMORY; } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// CUDA_SUCCESS, or what to answer at once.
[[nodiscard]] inline CUresult admit(char const* entry, when_poisoned rule) noexcept {
  if (CUresult const status = driver_state::get().ready()) { return status; }
  if (in_host_function()) { return CUDA_ERROR_NOT_PERMITTED; }
  if (injection::armed()) {
    if (CUresult const injected = injection::before(entry)) { return injected; }
  }
  return rule == when_poisoned::refuse ? fault::status() : CUDA_SUCCESS;
}

/// An entry that needs no context. `body` is called with the driver's state.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_driver(char const* entry, Body&& body) noexcept {
  if (CUresult const status = admit(entry, rule)) { return status; }
  CUresult const answer = guarded([&] { return body(driver_state::get()); });
  if constexpr (rule == when_poisoned::act_and_report) {
    if (answer == CUDA_SUCCESS) { return fault::status(); }
  }
  return answer;
}

/// A context as a handle names it, kept alive: one of its own, or a green context, which is a part
/// of a primary one.
struct place {
  driver_state::green_table::ref part;      // empty for what is no green context
  driver_state::context_table::ref whole;  // the context itself, or that of the part
  CUcontext handle = nullptr;

  [[nodiscard]] stream_group& streams() const noexcept {
    return part ? part->streams() : whole->streams();
  }
};

/// Finds a context by a handle that is not null. False when there is none (any more).
[[nodiscard]] inline bool find_place(CUcontext handle, place& found) noexcept {
  auto& state = driver_state::get();
  found.handle = handle;
  found.whole = state.contexts().find(handle);
  if (found.whole) { return true; }
  found.part = state.green_contexts().find(handle);
  if (found.part) { found.whole = state.contexts().find(found.part->whole().self()); }
  return static_cast<bool>(found.whole);
}

/// The current context; or the status that says why there is none.
[[nodiscard]] inline CUresult current_place(place& found) noexcept {
  CUcontext const top = context_stack::top();
  if (top == nullptr) { return CUDA_ERROR_INVALID_CONTEXT; }
  return find_place(top, found) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// The same for whoever does not care for parts: their primary context.
[[nodiscard]] inline CUresult current_context(driver_state::context_table::ref& found) noexcept {
  place here;
  if (CUresult const status = current_place(here)) { return status; }
  found = std::move(here.whole);
  return CUDA_SUCCESS;
}

/// The context of that handle; where it is null, the current one.
[[nodiscard]] inline CUresult named_place(CUcontext handle, place& found) noexcept {
  if (handle == nullptr) { return current_place(found); }
  return find_place(handle, found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/// An entry that acts on the current context, and for which a part is not the whole.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_place(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state&) {
    place here;
    if (CUresult const status = current_place(here)) { return status; }
    return body(here);
  });
}

/// An entry that acts on the current context: on the primary one, where that is a part.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_context(char const* entry, Body&& body) noexcept {
  return with_place<rule>(entry, [&](place& here) { return body(*here.whole); });
}

/// A question that a destroyed context still answers to a thread that has it current. `body` is
/// called with its corpses::facts, living or not.
template <class Body>
CUresult with_facts(char const* entry, Body&& body) noexcept {
  return with_driver<when_poisoned::ignore>(entry, [&](driver_state&) {
    place here;
    CUresult const status = current_place(here);
    if (status == CUDA_SUCCESS) {
      return body(corpses::facts{here.whole->home().ordinal(), here.whole->flags()});
    }
    auto const known =
        status == CUDA_ERROR_CONTEXT_IS_DESTROYED ? corpses::find(here.handle) : std::nullopt;
    return known ? body(*known) : status;
  });
}

/// An entry for which it is all one whether a context is current; a destroyed one is refused.
template <when_poisoned rule, class Body>
CUresult with_context_or_none(char const* entry, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state&) {
    place here;
    bool const none = context_stack::top() == nullptr;
    if (CUresult const status = none ? CUDA_SUCCESS : current_place(here)) { return status; }
    return body();
  });
}

/// What to answer for a handle that is no stream.
[[nodiscard]] inline CUresult no_stream(CUstream handle) {
  return green_context::left_in_a_destroyed(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                    : CUDA_ERROR_INVALID_HANDLE;
}

/// An entry that acts on a stream. The NULL stream is the current context's; any other needs none.
template <when_poisoned rule = when_poisoned::refuse, class Body>
CUresult with_stream(char const* entry, CUstream handle, Body&& body) noexcept {
  return with_driver<rule>(entry, [&](driver_state& state) {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
      place here;
      if (CUresult const status = current_place(here)) { return status; }
      if (handle == CU_STREAM_PER_THREAD) { return CUDA_ERROR_NOT_SUPPORTED; }
      return body(here.streams().legacy());
    }
    auto const found = state.streams().find(handle);
    return found ? body(*found) : no_stream(handle);
  });
}

/// Writes an answer to where the caller wants it.
template <class Value>
[[nodiscard]] CUresult answer(Value* to, std::type_identity_t<Value> value) noexcept {
  if (to == nullptr) { return CUDA_ERROR_INVALID_VALUE; }
  *to = value;
  return CUDA_SUCCESS;
}

}  // namespace flotilla::cpu_driver
