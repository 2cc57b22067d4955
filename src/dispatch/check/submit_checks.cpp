#include "dispatch/check/submit_checks.hpp"

#include <exception>

namespace flotilla::dispatch {

void submit_checks::destroyed(std::uintptr_t address, std::size_t) noexcept {
  try {
    if (which_.arguments) { arguments_.destroyed(address); }
  } catch (std::exception const&) {
    // There is no host memory for the record. A mistake may then stay unnoticed.
  }
}

}  // namespace flotilla::dispatch
