// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "memory_order/engine.hpp"

namespace flotilla::test::memory_order {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

engine& engine::instance() {
  static engine one;
  return one;
}

int engine::choose(int count) {
  if (redundant_ || count <= 1) { return 0; }
  if (depth_ == choices_.size()) { choices_.push_back({0, count}); }
  return choices_[depth_++].chosen;
}

bool engine::advance() {
  while (!choices_.empty() && choices_.back().chosen + 1 == choices_.back().count) {
    choices_.pop_back();
  }
  if (choices_.empty()) { return false; }
  ++choices_.back().chosen;
  return true;
}

bool engine::are_independent(operation const& one, operation const& other) {
  if (one.kind == 'm' || other.kind == 'm') { return one.kind != other.kind; }
  if (one.kind == 'f') { return other.kind != 'f' && !other.sequential; }
  if (other.kind == 'f') { return !one.sequential; }
  if (one.at != other.at) { return true; }
  return one.kind == 'l' && other.kind == 'l' && !(one.sequential && other.sequential);
}

bool engine::can_go_on(int thread) {
  fiber const& one = fibers_[thread];
  if (one.ended || one.next.waits != nullptr) { return false; }
  return one.next.locks == nullptr || mutexes_[one.next.locks].holder < 0;
}

int engine::pick_within_limit(std::vector<int> const& able) {
  bool const could_go_on = std::find(able.begin(), able.end(), last_) != able.end();
  if (could_go_on && preemptions_ == limits_.preemptions) { return last_; }
  std::vector<int> options = able;
  if (could_go_on) { std::swap(options[0], *std::find(options.begin(), options.end(), last_)); }
  int const chosen = options[choose(static_cast<int>(options.size()))];
  preemptions_ += could_go_on && chosen != last_ ? 1 : 0;
  return last_ = chosen;
}

int engine::pick(std::vector<int> const& able) {
  // Sleep sets would skip executions whose equivalent ones the limit has excluded.
  if (limits_.preemptions >= 0) { return pick_within_limit(able); }
  std::vector<int> options;
  for (int const each : able) {
    if ((asleep_ >> each & 1) == 0) { options.push_back(each); }
  }
  redundant_ = redundant_ || options.empty();
  if (redundant_) { return able.front(); }
  int const index = choose(static_cast<int>(options.size()));
  int const chosen = options[index];
  // All executions in which an earlier option goes first were explored before.
  for (int i = 0; i < index; ++i) { asleep_ |= 1u << options[i]; }
  for (int each = 1; each <= threads_; ++each) {
    if (each == chosen || !are_independent(fibers_[each].next, fibers_[chosen].next)) {
      asleep_ &= ~(1u << each);
    }
  }
  return chosen;
}

void engine::fiber_main(transfer_t from) {
  engine& self = instance();
  fiber& mine = self.fibers_[self.current_];
  self.scheduler_ = from.fctx;
  self.inside_ = false;
  (*mine.body)();
  self.inside_ = true;
  mine.ended = true;
  jump_fcontext(self.scheduler_, nullptr);
}

void engine::resume(int thread) {
  fiber& one = fibers_[thread];
  for (std::size_t i = 0; i < thread_words.size(); ++i) {
    std::swap(*thread_words[i], one.words[i]);
  }
  current_ = thread;
  memory_.tick(thread);
  one.context = jump_fcontext(one.context, nullptr).fctx;
  current_ = 0;
  for (std::size_t i = 0; i < thread_words.size(); ++i) {
    std::swap(*thread_words[i], one.words[i]);
  }
}

void engine::yield(operation next) {
  if (current_ == 0) { return; }  // the main thread is alone
  fibers_[current_].next = next;
  scheduler_ = jump_fcontext(scheduler_, nullptr).fctx;
}

void engine::run_threads() {
  for (int each = 1; each <= threads_; ++each) { resume(each); }  // up to its first operation
  while (wrong_.empty()) {
    std::vector<int> able;
    bool all_ended = true;
    for (int each = 1; each <= threads_; ++each) {
      all_ended = all_ended && (fibers_[each].ended || each > ending_);
      if (can_go_on(each)) { able.push_back(each); }
    }
    auto const spins = [this](int each) { return fibers_[each].next.spins; };
    if (!std::all_of(able.begin(), able.end(), spins)) { std::erase_if(able, spins); }
    if (able.empty() && all_ended) { return; }
    if (able.empty()) { return fail("deadlock"); }
    if (events_.size() > max_events) { return fail("the execution is too long"); }
    resume(pick(able));
  }
}

void engine::run_once(scenario const& what) {
  memory_.reset();
  races_.reset();
  mutexes_.clear();
  events_.clear();
  depth_ = 0;
  asleep_ = 0;
  preemptions_ = 0;
  last_ = 0;
  redundant_ = false;
  memory_.tick(0);
  execution one;
  running_ = true;
  what(one);
  inside_ = true;
  threads_ = static_cast<int>(one.threads().size());
  ending_ = static_cast<int>(one.ending());
  if (threads_ >= max_threads) { __builtin_trap(); }
  for (int each = 1; each <= threads_; ++each) {
    fiber& made = fibers_[each];
    if (made.stack == nullptr) { made.stack = std::make_unique<std::byte[]>(stack_bytes); }
    made.context = make_fcontext(made.stack.get() + stack_bytes, stack_bytes, fiber_main);
    made.body = &one.threads()[static_cast<std::size_t>(each - 1)];
    made.ended = false;
    made.next = {};
    made.words.assign(thread_words.size(), static_cast<std::uint64_t>(each));
    memory_.now(each) = memory_.now(0);
  }
  run_threads();
  for (int each = 1; each <= threads_; ++each) { memory_.now(0).join(memory_.now(each)); }
  memory_.tick(0);
  inside_ = false;
  for (auto const& each : one.checks()) {
    if (wrong_.empty()) { each(); }
  }
  inside_ = true;
  running_ = false;
}

exploration engine::explore(scenario const& what, weakening const& planted, limits at_most) {
  limits_ = at_most;
  planted_ = &planted;
  choices_.clear();
  sites_.clear();
  wrong_.clear();
  how_.clear();
  exploration found;
  bool more = true;
  while (more && wrong_.empty() && found.executions < at_most.executions) {
    inside_ = false;
    run_once(what);
    ++found.executions;
    more = advance();
  }
  inside_ = false;
  found.wrong = wrong_;
  found.how = how_;
  found.complete = !more || !wrong_.empty();
  found.sites.assign(sites_.begin(), sites_.end());
  return found;
}

void engine::fail(std::string const& mistake) {
  if (!wrong_.empty()) { return; }
  wrong_ = mistake;
  how_ = story();
}

std::string engine::story() const {
  std::string text;
  for (event const& each : events_) {
    char line[120];
    std::snprintf(line, sizeof line, "  thread %d: %c %#lx value %#lx order %d\n", each.thread,
                  each.kind, static_cast<unsigned long>(each.at),
                  static_cast<unsigned long>(each.value), each.order);
    text += line;
  }
  return text;
}

void engine::note(char kind, std::uintptr_t at, std::uint64_t value, int order) {
  if (current_ != 0) { events_.push_back({current_, kind, at, value, order}); }
}

int engine::order_at(void const* caller, char kind, bool is_failure, int order) {
  if (order == relaxed) { return order; }
  site const here{caller, is_failure, kind, order};
  for (site const& each : planted_->sites) {
    if (each == here) { return planted_->order; }
  }
  sites_.insert(here);
  return order;
}

int engine::locate(void const* at, std::uint64_t now) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  if (races_.atomic_access(memory_.now(current_), address)) {
    fail("data race with an atomic operation");
  }
  return memory_.locate(address, now);
}

void engine::access(void const* at, std::size_t bytes, bool writes) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  if (writes) { memory_.forget(address, bytes); }
  if (current_ == 0) { return; }  // before or after all other threads
  auto const stack = reinterpret_cast<std::uintptr_t>(fibers_[current_].stack.get());
  if (address >= stack && address < stack + stack_bytes) { return; }
  if (races_.access(current_, memory_.now(current_), address, bytes, writes)) { fail("data race"); }
}

void engine::renew(void const* at, std::size_t bytes) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  memory_.forget(address, bytes);
  races_.forget(address, bytes);
}

void engine::lock(pthread_mutex_t* which) {
  yield({'m', 0, false, which});
  mutex_state& one = mutexes_[which];
  one.holder = current_;
  memory_.now(current_).join(one.left);
}

void engine::unlock(pthread_mutex_t* which) {
  yield({'m'});
  mutexes_[which] = {-1, memory_.now(current_)};
  memory_.tick(current_);
}

void engine::wait(pthread_cond_t* on, pthread_mutex_t* with) {
  unlock(with);
  yield({'m', 0, false, with, on});
  mutexes_[with].holder = current_;
  memory_.now(current_).join(mutexes_[with].left);
}

void engine::notify(pthread_cond_t* on, bool all) {
  yield({'m'});
  std::vector<int> waiting;
  for (int each = 1; each <= threads_; ++each) {
    if (!fibers_[each].ended && fibers_[each].next.waits == on) { waiting.push_back(each); }
  }
  if (waiting.empty()) { return; }
  if (!all) { waiting = {waiting[choose(static_cast<int>(waiting.size()))]}; }
  for (int const each : waiting) { fibers_[each].next.waits = nullptr; }
}

void engine::spin() {
  redundant_ = true;
  events_.push_back({current_, 'w', 0, 0, relaxed});
  yield({'m', 0, false, nullptr, nullptr, true});
}

exploration explore(scenario const& what, weakening const& planted, limits at_most) {
  return engine::instance().explore(what, planted, at_most);
}

void check(bool holds, char const* mistake) {
  engine::pause const here;
  if (!holds) { engine::instance().fail(mistake); }
}

void add_thread_word(std::uint64_t& word) { engine::instance().thread_words.push_back(&word); }

}  // namespace flotilla::test::memory_order
