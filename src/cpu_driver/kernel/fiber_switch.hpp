#pragma once
// The switch itself. It is in a header so that it is inlined: after a switch the processor
// mispredicts every return up to the kernel, because it predicts the returns of the other fiber.
// Each level of calls costs about 10 ns.

#include <boost/context/detail/fcontext.hpp>

#include "cpu_driver/kernel/fiber.hpp"
#include "cpu_driver/kernel/sanitizer_fibers.hpp"

namespace flotilla::cpu_driver {

namespace fcontext = boost::context::detail;

/// The data that a jump passes on: both ends, so that the target can record where the other
/// continues.
struct passage {
  execution* from;
  execution* to;

  static execution& arrived(fcontext::transfer_t transfer) {
    // It lies on the stack that was left, so read it before that fiber can continue.
    passage const p = *static_cast<passage const*>(transfer.data);
    p.from->context = transfer.fctx;
    sanitizer::after_switch(*p.to, *p.from);
    return *p.to;
  }
};

/// Continues in `to`. Returns when something switches back to `from`, which must be running now.
[[gnu::always_inline]] inline void switch_execution(execution& from, execution& to) {
  passage p{&from, &to};
  sanitizer::before_switch(from, to);
  passage::arrived(fcontext::jump_fcontext(to.context, &p));
}

}  // namespace flotilla::cpu_driver
