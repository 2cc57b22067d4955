#pragma once
// The switch between two executions. The function is in a header so that the compiler can inline
// it: each function return after a switch costs about 10 ns. The processor mispredicts all returns
// up to the kernel function, because its return predictor still holds the return addresses of the
// previous fiber.

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
