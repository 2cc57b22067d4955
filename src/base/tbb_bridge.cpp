#include "base/tbb_bridge.hpp"

#include <oneapi/tbb/task_arena.h>

namespace flotilla::base {

// These functions are in tbb_entry.cpp, because this file is compiled without ThreadSanitizer (see
// tbb_bridge.hpp). ThreadSanitizer would not see the release and the acquire here.
void run_posted_job(posted_job& job) noexcept;       // tbb_entry.cpp
void announce_posted_job(posted_job& job) noexcept;  // tbb_entry.cpp

struct worker_arena::impl {
  explicit impl(int workers) : arena(workers, 0) { arena.initialize(); }
  tbb::task_arena arena;
};

worker_arena::worker_arena(int workers) : impl_(std::make_unique<impl>(workers)) {}
worker_arena::~worker_arena() = default;

void worker_arena::post(posted_job& job) {
  announce_posted_job(job);
  impl_->arena.enqueue([&job] { run_posted_job(job); });
}

void initialize_tbb() {
  isolated([](void*) {}, nullptr);
}

void isolated(void (*body)(void*), void* context) {
  tbb::this_task_arena::isolate([body, context] { body(context); });
}

}  // namespace flotilla::base
