#pragma once
// The switch itself. In a header to be inlined where it is used: after a switch the processor
// mispredicts every return up to the kernel, for it predicts those of the fiber that was left. Each
// level of calls costs some ten ns.

#include <boost/context/detail/fcontext.hpp>

#include "cpu_driver/fiber.hpp"
#include "cpu_driver/sanitizer_fibers.hpp"

namespace flotilla::cpu_driver {

namespace fcontext = boost::context::detail;

/// What a jump carries along: both ends, so that whoever arrives can note where the other stands.
struct passage {
  execution* from;
  execution* to;

  static execution& arrived(fcontext::transfer_t transfer) {
    // It lies on the stack that was left: to be read before that one can go on.
    passage const p = *static_cast<passage const*>(transfer.data);
    p.from->context = transfer.fctx;
    sanitizer::after_switch(*p.to, *p.from);
    return *p.to;
  }
};

/// Goes on in `to`; returns when something switches back to `from`, which must be what is running.
[[gnu::always_inline]] inline void switch_execution(execution& from, execution& to) {
  passage p{&from, &to};
  sanitizer::before_switch(from, to);
  passage::arrived(fcontext::jump_fcontext(to.context, &p));
}

}  // namespace flotilla::cpu_driver
