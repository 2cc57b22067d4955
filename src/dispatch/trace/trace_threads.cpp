// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "dispatch/trace/trace_threads.hpp"

#include <algorithm>
#include <exception>

#include "base/per_thread.hpp"
#include "dispatch/task/trace_stamp.hpp"

namespace flotilla::dispatch {

/// What a thread knows of the runtimes that it uses.
struct trace_threads::of_this_thread {
  struct entry {
    std::uint64_t runtime;
    std::shared_ptr<trace_thread> thread;
  };
  std::vector<entry> entries;

  of_this_thread() = default;
  of_this_thread(of_this_thread&&) = delete;
  ~of_this_thread() { last_ = {}; }
};

trace_thread* trace_threads::find() noexcept {
  try {
    of_this_thread& self = base::per_thread<of_this_thread>::get();
    auto const known = std::find_if(self.entries.begin(), self.entries.end(),
                                    [this](auto const& each) { return each.runtime == runtime_; });
    if (known == self.entries.end()) {
      // After a runtime has ended, this thread has the only reference.
      std::erase_if(self.entries, [](auto const& each) { return each.thread.use_count() == 1; });
      std::lock_guard const lock{mutex_};
      if (threads_.size() == trace_stamp::max_threads) { return nullptr; }
      auto made =
          std::make_shared<trace_thread>(static_cast<std::uint32_t>(threads_.size()), budget_);
      self.entries.push_back({runtime_, made});
      last_ = {runtime_, made.get()};
      threads_.push_back(std::move(made));
    } else {
      last_ = {runtime_, known->thread.get()};
    }
    return last_.thread;
  } catch (std::exception const&) { return nullptr; }  // no memory
}

void trace_threads::refresh(std::vector<std::shared_ptr<trace_thread>>& seen) {
  std::lock_guard const lock{mutex_};
  for (std::size_t i = seen.size(); i < threads_.size(); ++i) { seen.push_back(threads_[i]); }
}

}  // namespace flotilla::dispatch
