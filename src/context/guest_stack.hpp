#pragma once
// Runs user code with one context current and everything below it out of reach, then checks and mends.

#include <string>
#include <vector>

#include "context/floating_context.hpp"

namespace flotilla::context {

/// While it lives, the calling thread's stack holds the context alone. Afterwards the stack is what it was.
/// Without it, code that pops once too often would take the caller's contexts, and nobody could tell.
///
/// The context must be current when this is made (a current_scope is open) and is current again afterwards.
/// Cost: a few pushes and pops, some 100 ns.
class guest_stack {
 public:
  explicit guest_stack(floating_context const& context);
  ~guest_stack();
  guest_stack(guest_stack const&) = delete;
  guest_stack& operator=(guest_stack const&) = delete;

  /// Mends the stack now. @return what the guest had done to it, in words; empty: nothing.
  [[nodiscard]] std::string mend();

 private:
  floating_context const& context_;
  std::vector<CUcontext> below_;  // bottom last
  bool mended_ = false;
};

}  // namespace flotilla::context
