#include <flotilla/runtime.hpp>

#include <fstream>

#include "dispatch/core.hpp"
#include "driver/check.hpp"

namespace flotilla {

runtime::runtime(runtime_options options) : core_(new dispatch::core(std::move(options))) {}
runtime::~runtime() { dispatch::core::end_runtime(core_); }

std::span<device const> runtime::devices() const noexcept { return core_->devices(); }

device const& runtime::device(device_ordinal ordinal) const { return core_->devices()[core_->checked(ordinal)]; }

device_settings runtime::effective_settings(device_ordinal device) const {
  core_->check_process();
  return core_->effective_settings(core_->checked(device));
}

device_settings runtime::requested_settings(device_ordinal device) const {
  core_->check_process();
  return core_->requested_settings(core_->checked(device));
}

settings_report runtime::report_settings(device_ordinal device) const {
  core_->check_process();
  return core_->report_settings(core_->checked(device));
}

std::string const& runtime::driver_text() const noexcept { return core_->driver_text(); }

program runtime::load(image const& code) {
  bool const gpu = core_->api().kind == device_kind::gpu;
  return {*core_, core_->load("image '" + std::string{code.name} + "'", gpu ? code.gpu : code.cpu, "")};
}

program runtime::load(std::filesystem::path const& file) {
  core_->check_usable();
  std::string const name = "file '" + file.string() + "'";
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    throw bad_image(name + (failed ? ": " + failed.message() : " is no regular file"));
  }
  if (!std::ifstream{file, std::ios::binary}.is_open()) { throw bad_image(name + " cannot be read"); }
  if (std::filesystem::file_size(file, failed) == 0) { throw bad_image(name + " is empty"); }
  return {*core_, core_->load(name, nullptr, file.string())};
}

ticket runtime::submit(launch const& what, task_options const& options) {
  ticket made;
  core_->submit(what, options, true, made);
  return made;
}
ticket runtime::submit(transfer const& what, task_options const& options) {
  ticket made;
  core_->submit(what, options, true, made);
  return made;
}
ticket runtime::submit(work what, task_options const& options) {
  ticket made;
  core_->submit(what, options, true, made);
  return made;
}
std::optional<ticket> runtime::try_submit(launch const& what, task_options const& options) {
  std::optional<ticket> made{std::in_place};
  if (!core_->submit(what, options, false, *made)) { made.reset(); }
  return made;
}
std::optional<ticket> runtime::try_submit(transfer const& what, task_options const& options) {
  std::optional<ticket> made{std::in_place};
  if (!core_->submit(what, options, false, *made)) { made.reset(); }
  return made;
}
std::optional<ticket> runtime::try_submit(work&& what, task_options const& options) {
  std::optional<ticket> made{std::in_place};
  if (!core_->submit(what, options, false, *made)) { made.reset(); }
  return made;
}

bool runtime::pump() { return core_->pump(); }
void runtime::wait_idle() { core_->wait_idle(); }
void runtime::flush_printf() { core_->flush_printf(); }
void runtime::close() noexcept { core_->close(); }

runtime::memory_info runtime::memory(device_ordinal device) const {
  memory_info made{};
  core_->control(core_->checked(device), [&](dispatch::device_queue& queue) {
    driver::check(queue.context.api().mem_get_info(&made.free_bytes, &made.total_bytes), "cuMemGetInfo",
                  queue.context.subject());
  });
  return made;
}

device_counters runtime::counters(device_ordinal device) const {
  core_->check_process();
  return core_->counters(core_->checked(device));
}

std::vector<worker_counters> runtime::workers() const {
  core_->check_process();
  return core_->worker_counts();
}

}  // namespace flotilla
