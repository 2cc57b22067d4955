#include <flotilla/recording.hpp>

#include <flotilla/error.hpp>
#include <flotilla/runtime.hpp>

#include "dispatch/recorder.hpp"

namespace flotilla {

recording::recording(runtime& owner) : recorder_(std::make_unique<dispatch::recorder>(owner.core())) {}
recording::recording(recording&& other) noexcept = default;
recording& recording::operator=(recording&& other) noexcept = default;
recording::~recording() = default;

dispatch::recorder& recording::recorder() const {
  if (recorder_ == nullptr) { throw invalid_argument("the recording was moved from"); }
  return *recorder_;
}

recorded_task recording::add(launch const& what, recorded_options const& options) { return recorder().add(what, options); }
recorded_task recording::add(transfer const& what, recorded_options const& options) {
  return recorder().add(what, options);
}
void recording::finish() { recorder().finish(); }
ticket recording::replay(replay_options const& options) { return recorder().replay(options); }
void recording::set(recorded_task which, launch const& what) { recorder().set(which, what); }
void recording::set(recorded_task which, transfer const& what) { recorder().set(which, what); }
std::size_t recording::size() const noexcept { return recorder_ == nullptr ? 0 : recorder_->size(); }

}  // namespace flotilla
