#include "cpu_driver/event.hpp"

#include "cpu_driver/driver_state.hpp"

namespace flotilla::cpu_driver {

void occurrence::happen() noexcept {
  // acq_rel: who waits sees what all the streams have done
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  if (timed_) { when_ = clock::now(); }
  // release: pairs with the acquires in passed() and watch()
  bool const was_watched = (state_.fetch_or(done, std::memory_order_acq_rel) & watched) != 0;
  latch_.count_down();
  if (was_watched) { driver_state::get().nudge_devices(); }
}

}  // namespace flotilla::cpu_driver
