#include "dispatch/core.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <flotilla/error.hpp>

#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {

std::uint64_t next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

runtime_options checked_options(runtime_options options) {
  if (options.window && (*options.window < context::least_window || *options.window > context::most_window)) {
    throw invalid_argument("runtime_options::window is " + std::to_string(*options.window) + ": " +
                           std::to_string(context::least_window) + " to " + std::to_string(context::most_window) +
                           " it may be");
  }
  if (options.workers < runtime_options::automatic) {
    throw invalid_argument("runtime_options::workers is " + std::to_string(options.workers) +
                           ": a count it may be, or automatic");
  }
  return options;
}

int workers_for(int asked, std::size_t devices) {
  if (asked != runtime_options::automatic) { return asked; }
  int const cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(static_cast<int>(devices), 1, std::max(1, cores - 1));
}

constexpr std::size_t default_window = 16384;

/// What is set in code wins over the environment, for each device and setting by itself.
settings with_environment(runtime_options const& options) {
  settings code = options.settings;
  if (!code.all.window) { code.all.window = options.window; }
  return code.over(settings::from_environment());
}

std::size_t all_windows(std::vector<context::request> const& requests) {
  std::size_t sum = 0;
  for (context::request const& each : requests) { sum += each.settings.window.value_or(default_window); }
  return sum;
}

}  // namespace

core::core(runtime_options options)
    : id_(next_id()), fork_generation_(base::fork_generation()), options_(checked_options(std::move(options))),
      chosen_(context::choose(options_.devices)),
      requests_(context::plan(chosen_, with_environment(options_), options_.best_effort)),
      any_pool_(static_cast<unsigned>(chosen_.devices.size()),
                std::min(all_windows(requests_), context::most_window)),
      continuations_(std::make_shared<continuations>(*this)),
      workers_(*this, workers_for(options_.workers, chosen_.devices.size()), options_.linger) {
  try {
    for (device const& each : chosen_.devices) {
      context::request const& asked = requests_[each.ordinal.value];
      devices_.push_back(std::make_unique<device_queue>(*this, each.ordinal.value, chosen_.api, each, asked,
                                                        asked.settings.window.value_or(default_window)));
      schedules_.add(*devices_.back()->context.effective().schedule);
      slots_.push_back(&devices_.back()->pool[0]);
    }
    slots_.push_back(&any_pool_[0]);
  } catch (...) {
    for (auto const& each : devices_) {
      context::lease held = each->gate.take();
      context::current_scope const scope{held};
      each->destroy_resources();
    }
    throw;
  }
}

core::~core() = default;

void core::end_runtime(core* self) noexcept {
  if (self->fork_generation_ != base::fork_generation()) {
    // The parent's. Nothing of it may be touched here, and there is no thread that could end it.
    return;
  }
  self->close();
  self->shut_down();
  if (self->tickets_.close()) { delete self; }
}

void core::shut_down() noexcept {
  end_continuations();
  workers_.stop();
  // On a poisoned driver tasks are left that will never run. Callables are the user's: destroyed they must be.
  auto const destroy_works = [](slot_pool& slots) {
    for (std::uint32_t i = 0; i < slots.touched(); ++i) {
      slot& each = slots[i];
      if (!generation_word{each.generation.load(std::memory_order_acquire)}.open()) { continue; }
      if (each.kind == task_kind::work && std::exchange(each.holds_work, false)) {
        std::destroy_at(&held_in<work>(each));
      }
    }
  };
  if (is_poisoned()) {
    for (auto const& each : devices_) { destroy_works(each->pool); }
    destroy_works(any_pool_);
  }
  // Everything that was given up may go now, and so may the programs: no task is left that uses them.
  for (auto const& each : devices_) {
    context::lease held = each->gate.take();
    try {
      context::current_scope const scope{held};
      each->free_unused(device_queue::waiting::allowed);
      each->destroy_resources();
    } catch (error const& why) {
      if (!is_poisoned()) { std::fprintf(stderr, "flotilla: %s\n", why.what()); }
    }
    // With its lease, so that nobody ends them at the same time and is still to count.
    if (is_poisoned()) { count_tickets_of_open(each->index); }
  }
  if (is_poisoned()) { count_tickets_of_open(std::nullopt); }
  // Behind the graphs that hold their functions. A library belongs to no context: it goes also where none can be made current.
  for (std::size_t i = 0; i < table.programs.size(); ++i) {
    note(api().library_unload(table.programs[i].library), *devices_.front());
  }
  // The first device's context last: pinned memory belongs to it, and on a poisoned driver a kernel of another may
  // still be at it until its own context has ended.
  for (auto each = devices_.rbegin(); each != devices_.rend(); ++each) { (*each)->end_context(); }
}

bool core::any_batches() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(), [](auto const& each) { return each->has_batches(); });
}

void core::check_process() const {
  if (fork_generation_ != base::fork_generation()) {
    throw used_after_fork("a flotilla runtime was used in a child of fork(): CUDA cannot be used there; make the "
                          "runtime after fork(), or start another program");
  }
}

void core::refuse_use() const {
  check_process();
  if (is_poisoned()) { std::rethrow_exception(poison_->error); }
  throw runtime_closed("the runtime is closed: nothing was queued");
}

device_settings core::effective_settings(unsigned device) const {
  device_settings made = queue(device).context.effective();
  made.window = queue(device).pool.window();
  made.lanes = queue(device).lanes();
  return made;
}

settings_report core::report_settings(unsigned device) const {
  return context::report(chosen_.devices[device], requests_[device].settings, effective_settings(device),
                         queue(device).context.refused());
}

void core::refuse(device_ordinal device) const {
  throw unknown_device("there is no device " + std::to_string(device.value) + ": this runtime has " +
                       std::to_string(devices_.size()) + ", from 0");
}

bool core::all_retired() const noexcept {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](auto const& each) { return each->gate.retired() != CUDA_SUCCESS; });
}

bool core::has_open_tasks() const noexcept {
  return any_pool_.any_used() ||
         std::any_of(devices_.begin(), devices_.end(), [](auto const& each) { return each->pool.any_used(); });
}

}  // namespace flotilla::dispatch
