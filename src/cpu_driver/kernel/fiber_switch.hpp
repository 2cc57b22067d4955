// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Switches between fibers, and between a fiber and its OS thread. After a switch, the processor
// mispredicts all function returns up to the kernel function, because its return predictor still
// holds the return addresses of the previous fiber. Each of these returns costs about 10 ns.
// Therefore the switch is in a header, so that the compiler can inline it and save returns.

#include <boost/context/detail/fcontext.hpp>

#include "cpu_driver/kernel/fiber.hpp"
#include "cpu_driver/kernel/sanitizer_fibers.hpp"

namespace flotilla::cpu_driver {

namespace fcontext = boost::context::detail;

/// The data that a jump passes to its target. The target of the jump stores the saved context of
/// the source in `from->context`.
struct passage {
  execution* from;
  execution* to;

  static execution& arrived(fcontext::transfer_t transfer) {
    // The passage is on the stack of `from`. Copy it before `from` can run again.
    passage const p = *static_cast<passage const*>(transfer.data);
    p.from->context = transfer.fctx;
    sanitizer::after_switch(*p.to, *p.from);
    return *p.to;
  }
};

/// Switches from `from`, which must be running, to `to`. Returns after a switch back to `from`.
[[gnu::always_inline]] inline void switch_execution(execution& from, execution& to) {
  passage p{&from, &to};
  sanitizer::before_switch(from, to);
  passage::arrived(fcontext::jump_fcontext(to.context, &p));
}

}  // namespace flotilla::cpu_driver
