#include <flotilla/context_driver.hpp>
#include <flotilla/runtime.hpp>

#include "dispatch/core.hpp"

namespace flotilla {

context_driver context_driver::of(runtime const& runtime) {
  runtime.core().check_process();
  return context_driver{runtime.core().queue(0).context.shared_api()};
}

}  // namespace flotilla
