#include "dispatch/worker_pool.hpp"

#include <condition_variable>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>

#include "base/pause.hpp"
#include "context/lease.hpp"
#include "dispatch/core.hpp"

namespace flotilla::dispatch {

namespace {
constexpr int courtesy = 32;  // looks, a microsecond or two
}

struct worker_pool::record {
  std::uint64_t thread = 0;
  std::atomic<std::uint64_t> drains{0};   // written by that thread
  std::atomic<std::uint64_t> devices{0};
};

/// What posted jobs and the pool share. A job that oneTBB begins after the pool has stopped finds it closed.
struct worker_pool::shared {
  std::atomic<int> active{0};  // out or asked for
  std::atomic<int> looking_out{0};
  std::atomic<bool> polling{false};  // a worker looks whether tasks with continuations have ended
  std::mutex mutex;
  std::condition_variable ended;
  bool closed = false;
  int running = 0;
  base::append_only<record> records;
};

struct worker_pool::post {
  void ask(worker_pool& asking) {
    with = asking.shared_;
    pool = &asking;
  }
  base::posted_job job{&worker_pool::run, this};
  std::shared_ptr<shared> with;
  worker_pool* pool = nullptr;
  std::list<post>::iterator at{};  // where `posts` keeps it
};

/// The posts that oneTBB has not begun. It never begins some of them where the application holds all its
/// threads until the process ends, and only it knows of them then: kept here they are in somebody's hands,
/// and a leak checker has nothing to report. Immortal, since a thread of oneTBB may come later than the
/// destructors of static objects.
struct worker_pool::posts {
  static posts& all() {
    static posts& made = *new posts;
    return made;
  }

  base::posted_job& add(worker_pool& asking) {
    std::lock_guard const lock{mutex};
    if (done.empty()) { done.emplace_back(); }
    waiting.splice(waiting.end(), done, done.begin());
    post& made = waiting.back();
    made.ask(asking);
    made.at = std::prev(waiting.end());
    return made.job;
  }

  struct taken {
    std::shared_ptr<shared> with;
    worker_pool* pool;
  };
  taken take(post& begun) {
    std::lock_guard const lock{mutex};
    done.splice(done.begin(), waiting, begun.at);
    return {std::move(begun.with), begun.pool};
  }

  std::mutex mutex;
  std::list<post> waiting;
  std::list<post> done;  // to be used again: asking for a worker allocates only oneTBB's task
};

worker_pool::worker_pool(core& owner, int most, std::chrono::microseconds linger)
    : owner_(owner), most_(most), linger_(linger), shared_(std::make_shared<shared>()) {
  if (most_ > 0) { arena_ = std::make_unique<base::worker_arena>(most_); }
}

worker_pool::~worker_pool() { stop(); }

void worker_pool::wake() noexcept {
  int active = shared_->active.load(std::memory_order_seq_cst);
  while (active < most_) {
    if (!shared_->active.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst)) { continue; }
    arena_->post(posts::all().add(*this));
    return;
  }
}

void worker_pool::wake_to_poll() noexcept {
  // seq_cst: a worker clears it and then looks for continuations, this thread entered one and then looks here.
  if (!shared_->polling.load(std::memory_order_seq_cst)) { wake(); }
}

void worker_pool::run(void* context) {
  posts::taken const self = posts::all().take(*static_cast<post*>(context));
  shared& with = *self.with;
  {
    std::lock_guard const lock{with.mutex};
    if (with.closed) { return; }
    ++with.running;
  }
  self.pool->work(self.pool->my_record());
  std::lock_guard const lock{with.mutex};
  --with.running;
  with.ended.notify_all();
}

worker_pool::record& worker_pool::my_record() {
  std::uint64_t const me = context::this_thread_token();
  for (std::size_t i = 0; i < shared_->records.size(); ++i) {
    if (shared_->records[i].thread == me) { return shared_->records[i]; }
  }
  return shared_->records[shared_->records.add([me](record& made) { made.thread = me; })];
}

void worker_pool::work(record& mine) {
  using clock = std::chrono::steady_clock;
  clock::time_point last_work = clock::now();
  auto const devices = static_cast<unsigned>(owner_.devices().size());
  // Workers begin at different devices, so that each goes for what the others have not taken.
  auto next = static_cast<unsigned>(mine.thread % devices);
  bool looking_out = false;
  auto const look_out = [&](bool now) {
    if (now == looking_out) { return; }
    looking_out = now;
    shared_->looking_out.fetch_add(now ? 1 : -1, std::memory_order_relaxed);
  };
  // One worker for all sees to it that tasks with continuations are ended when nobody waits. It leaves that place before
  // it may run user code, which can take any time, and asks for another one.
  bool polling = false;
  unsigned round = 0;
  schedule how = schedule::yield;  // to look out for work
  clock::time_point next_question = last_work + std::chrono::milliseconds{5};
  auto const stop_polling = [&] {
    if (!polling) { return; }
    polling = false;
    shared_->polling.store(false, std::memory_order_seq_cst);
    if (owner_.has_continuations()) { wake(); }
  };
  struct at_end {
    decltype(look_out) const& say;
    decltype(stop_polling) const& leave;
    ~at_end() {
      say(false);
      leave();
    }
  } const says_no_more{look_out, stop_polling};
  while (true) {
    bool moved = false;
    bool waiting = false;
    for (unsigned i = 0; i < devices; ++i) {
      device_queue& queue = owner_.queue((next + i) % devices);
      if (!queue.needs_drain() && !owner_.any_waits()) { continue; }
      if (queue.expects_waiter()) {
        // The thread that submitted is quicker, if it does wait. Seen to, by it or below: work all the same.
        for (int k = 0; k < courtesy && queue.expects_waiter(); ++k) { base::pause(); }
        queue.expect_no_waiter();
        last_work = clock::now();
        if (!queue.needs_drain() && !owner_.any_waits()) { continue; }
      }
      waiting = true;
      look_out(false);
      stop_polling();
      if (owner_.drain_if_free(queue, drainer{})) {
        moved = true;
        bump(mine.drains);
        mine.devices.store(mine.devices.load(std::memory_order_relaxed) | std::uint64_t{1} << (queue.index % 64),
                           std::memory_order_relaxed);
      }
    }
    ++next;
    bool const continues = owner_.has_continuations();
    if (continues) {
      if (owner_.continuations_due()) {
        look_out(false);
        stop_polling();
        moved = owner_.run_continuations() || moved;
      }
      polling = polling || !shared_->polling.exchange(true, std::memory_order_seq_cst);
      if (polling) {
        moved = owner_.collect_watched() || moved;
        // A kernel that faulted never writes its number.
        if (clock::time_point const now = clock::now(); now > next_question) {
          owner_.ask_all();
          next_question = now + std::chrono::milliseconds{5};
        }
      }
    } else {
      stop_polling();
    }
    if (moved) {
      last_work = clock::now();
      round = 0;
      continue;
    }
    if (waiting && !owner_.is_poisoned()) {
      // Something is left that only time moves on: a lane that is full, a copy under way. Nobody waits for this thread:
      // automatic yields here, and who yields looks seldom once it has been at it for long.
      schedule const like = of_worker(owner_.schedule_of_busy(schedule::yield), owner_.api().kind);
      if (like != schedule::yield) {
        owner_.idle(like, ++round);
      } else {
        std::this_thread::yield();
        if (clock::now() - last_work > std::chrono::milliseconds{1}) {
          std::this_thread::sleep_for(std::chrono::microseconds{20});
        }
      }
      {
        std::lock_guard const lock{shared_->mutex};
        if (shared_->closed) { return; }
      }
      continue;
    }
    if (polling) {
      look_out(true);
      owner_.idle_polling(++round);
      std::lock_guard const lock{shared_->mutex};
      if (shared_->closed) { return; }
      continue;
    }
    if (!looking_out) { how = owner_.schedule_of_workers(); }  // asked once, and not in every look
    if (lingers(how) && clock::now() - last_work < linger_) {
      look_out(true);
      // A look, and no more than a pause between two: 16 of them, as waiters make, would be seen in every lone task.
      if (how == schedule::yield) {
        std::this_thread::yield();
      } else {
        base::pause();
      }
      continue;
    }
    // Leave, and look once more: what was announced before `active` fell found this worker still out.
    shared_->active.fetch_sub(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // needs_drain reads what drain_if_free fenced
    bool const unseen = owner_.has_continuations() && !shared_->polling.load(std::memory_order_seq_cst);
    if (!unseen && (!owner_.something_left() || owner_.is_poisoned())) { return; }
    int active = shared_->active.load(std::memory_order_seq_cst);
    while (true) {
      if (active >= most_) { return; }  // another was asked for meanwhile, and will look
      if (shared_->active.compare_exchange_weak(active, active + 1, std::memory_order_seq_cst)) { break; }
    }
    last_work = clock::now();
  }
}

bool worker_pool::looks_out() const noexcept { return shared_->looking_out.load(std::memory_order_relaxed) != 0; }

void worker_pool::stop() noexcept {
  std::unique_lock lock{shared_->mutex};
  shared_->closed = true;
  shared_->ended.wait(lock, [this] { return shared_->running == 0; });
}

std::vector<worker_counters> worker_pool::counters() const {
  std::vector<worker_counters> made;
  for (std::size_t i = 0; i < shared_->records.size(); ++i) {
    record const& each = shared_->records[i];
    made.push_back({each.drains.load(std::memory_order_relaxed), each.devices.load(std::memory_order_relaxed)});
  }
  return made;
}

}  // namespace flotilla::dispatch
