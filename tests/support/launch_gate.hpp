// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps tasks from being launched until the test allows it.

#include <cstdint>
#include <optional>

#include <flotilla/kernel/task_status.hpp>

#include "support/contract_test.hpp"

namespace flotilla::test {

/// A task that is open until `open` is called, and whose successors are not launched before its
/// end: a kernel with a task_status that runs after a held kernel.
class launch_gate {
 public:
  launch_gate(runtime& rt, test_program& program, device_ordinal device)
      : hold_{rt}, values_{rt, device, 1}, runs_{rt, device, 1} {
    auto const check =
        program.loaded.kernel<std::uint32_t const*, std::uint32_t, task_status, std::uint32_t*>(
            "fail_above");
    ticket const cleared = rt.submit(values_.fill(0));
    ticket const held = rt.submit(hold_.launch_of(program), {.device = device, .after = {cleared}});
    gate_ = rt.submit(check.with_shape({1}, {1})(values_, 1, task_status{}, runs_),
                      {.device = device, .after = {held}});
  }
  [[nodiscard]] ticket const& gate() const { return gate_; }
  void open() { hold_.release(); }

 private:
  held_word hold_;
  device_buffer<std::uint32_t> values_, runs_;
  ticket gate_;
};

}  // namespace flotilla::test
