// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flows, which order tasks by the data that they use.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <flotilla/data/flow.hpp>
#include <flotilla/error/error.hpp>

#include "cluster.hpp"
#include "core.hpp"
#include "scopes.hpp"

namespace flotilla::python {

/// Owns a C++ flow. The Python object and the data of the flow share it.
///
/// The mutex of the C++ flow is also locked while `repeat` calls Python. So every call of the C++
/// flow must release the GIL.
///
/// Threads: the caller of each function must hold the GIL. It guards all members.
class flow_core final : public owned_part {
 public:
  flow_core(core_ptr owner, flow_options const& options);
  /// Makes a flow over all ranks.
  flow_core(std::shared_ptr<cluster_core> ranks, flow_options const& options);
  flow_core(flow_core const&) = delete;
  flow_core& operator=(flow_core const&) = delete;
  ~flow_core() override;

  [[nodiscard]] core_ptr const& owner() const noexcept { return owner_; }
  /// Null if the flow runs only in this process.
  [[nodiscard]] cluster_core const* ranks() const noexcept { return ranks_.get(); }
  /// @throws runtime_closed, invalid_handle  The runtime, the flow or its cluster is closed.
  [[nodiscard]] flow& usable();
  /// Calls `function` with the C++ flow, without the GIL. `close` waits until it has returned.
  template <class F>
  auto without_gil(F const& function) {
    owner_->destroy_late(8);  // a few, so that the call costs little
    flow& all = usable();
    busy_call const busy{calls_};
    return owner_->without_gil([&] { return function(all); });
  }

  /// Ends the flow. Submitted tasks still run, and its data stay. The second call does nothing.
  /// @throws would_deadlock  The caller is inside a function of a task, and a call is in progress.
  void close();
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

  /// Keeps an object until the flow is closed, because `repeat` may replay tasks that use it.
  void keep(nb::handle object);
  [[nodiscard]] bool is_repeating() const noexcept { return repeats_ != 0; }
  void begin_repeat() noexcept { ++repeats_; }
  void end_repeat() noexcept { --repeats_; }

  bool free() noexcept override;

 private:
  void end() noexcept;

  core_ptr const owner_;
  std::shared_ptr<cluster_core> const ranks_;
  std::optional<flow> held_;  // empty after the end
  std::unordered_map<PyObject*, nb::object> kept_;
  bool is_closed_ = false;
  std::size_t calls_ = 0;    // threads that are inside `without_gil`
  std::size_t repeats_ = 0;  // threads that are inside `repeat`
};

/// Marks that the current thread runs a Python function for `repeat` or `repeat_while`, until the
/// end of the block. The loop uses the flow and its value meanwhile, so a wait for the end of such
/// uses would never end.
class inside_loop {
 public:
  inside_loop() noexcept { ++depth(); }
  inside_loop(inside_loop const&) = delete;
  inside_loop& operator=(inside_loop const&) = delete;
  ~inside_loop() { --depth(); }
  /// @throws would_deadlock  The thread is inside a loop.
  static void refuse_wait(std::string const& what) {
    if (depth() == 0) { return; }
    throw would_deadlock("close(): " + what +
                         " is in use, and the caller is inside a function of repeat() or "
                         "repeat_while(), which must return before");
  }

 private:
  static unsigned& depth() noexcept {
    thread_local unsigned current = 0;
    return current;
  }
};

/// The Python object of a flow.
struct py_flow {
  std::shared_ptr<flow_core> core;
};

void bind_flows(nb::module_& to);

}  // namespace flotilla::python
