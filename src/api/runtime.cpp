// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/runtime.hpp>

#include <fstream>
#include <system_error>

#include "api/state_of.hpp"
#include "base/access.hpp"
#include "base/refusal.hpp"
#include "driver/check.hpp"

namespace flotilla {
inline namespace v0_1 {

namespace {

// constexpr: it exists before and after all other static objects, which may submit tasks.
constexpr task_options no_options{.after = detail::access::constant_list(),
                                  .after_end = detail::access::constant_list()};
constexpr host_options no_host_options{.after = detail::access::constant_list(),
                                       .after_end = detail::access::constant_list()};

std::optional<device_ordinal> ordinal_of(detail::device_number device) noexcept {
  if (device == detail::any_device) { return std::nullopt; }
  return device_ordinal{static_cast<unsigned>(device)};
}

/// Checks that `file` is a readable, nonempty file, because the driver's errors for other files are
/// misleading.
/// @throws bad_image
void check_file(std::filesystem::path const& file, std::string const& name) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    throw bad_image(name + (failed ? ": " + failed.message() : " is not a regular file"));
  }
  if (!std::ifstream{file, std::ios::binary}.is_open()) {
    throw bad_image(name + " cannot be read");
  }
  if (std::filesystem::file_size(file, failed) == 0) { throw bad_image(name + " is empty"); }
}

}  // namespace

constinit task_options const& detail::default_options = no_options;
constinit host_options const& detail::default_host_options = no_host_options;

namespace {

/// Names the limits if there is too little host memory.
dispatch::runtime_state* make_state(runtime_options&& options) {
  try {
    return new dispatch::runtime_state(std::move(options));
  } catch (base::no_memory const&) { throw; } catch (std::bad_alloc const&) {
    throw base::no_memory{"a runtime"};
  }
}

}  // namespace

runtime::runtime(runtime_options options) : impl_(make_state(std::move(options))) {}
runtime::~runtime() { dispatch::runtime_state::end(state_of(impl_)); }

std::span<device const> runtime::devices() const noexcept { return state_of(impl_).infos(); }

device_settings runtime::effective_settings(device_ordinal device) const {
  dispatch::runtime_state const& state = state_of(impl_);
  state.usage.check_process();
  return state.effective_settings(state.valid.checked(device));
}

settings_report runtime::report_settings(device_ordinal device) const {
  dispatch::runtime_state const& state = state_of(impl_);
  state.usage.check_process();
  return state.report_settings(state.valid.checked(device));
}

std::string const& runtime::driver_text() const noexcept { return state_of(impl_).driver_text(); }

program runtime::load(image const& code) {
  dispatch::runtime_state& state = state_of(impl_);
  std::string const name = "image '" + std::string{code.name} + "'";
  bool const on_gpus = state.api()->kind == device_kind::gpu;
  if (!on_gpus && code.gpu_only != nullptr) {
    std::vector<std::string> kernels;
    for (char const* const* each = code.gpu_only; *each != nullptr; ++each) {
      kernels.emplace_back(*each);
    }
    return detail::access::make_program(*impl_,
                                        state.programs.load_gpu_only(name, std::move(kernels)));
  }
  return detail::access::make_program(*impl_,
                                      state.programs.load(name, on_gpus ? code.gpu : code.cpu, ""));
}

program runtime::load(std::filesystem::path const& file) {
  dispatch::runtime_state& state = state_of(impl_);
  state.usage.check_usable();
  std::string const name = "file '" + file.string() + "'";
  check_file(file, name);
  return detail::access::make_program(*impl_, state.programs.load(name, nullptr, file.string()));
}

ticket detail::submit_launch(runtime_impl& runtime, launch const& what,
                             detail::device_number device) {
  ticket made;
  state_of(&runtime).tasks.submit(what, dispatch::device_option{ordinal_of(device)},
                                  dispatch::when_full::wait, &made);
  return made;
}
ticket detail::submit_launch(runtime_impl& runtime, launch const& what,
                             detail::device_number device, std::span<task_id const> after) {
  ticket made;
  state_of(&runtime).tasks.submit(what, dispatch::order_options{{ordinal_of(device)}, {after}},
                                  dispatch::when_full::wait, &made);
  return made;
}
ticket detail::submit_launch(runtime_impl& runtime, launch const& what,
                             task_options const& options) {
  ticket made;
  state_of(&runtime).tasks.submit(what, options, dispatch::when_full::wait, &made);
  return made;
}
void detail::post_launch(runtime_impl& runtime, launch const& what, detail::device_number device) {
  state_of(&runtime).tasks.submit(what, dispatch::device_option{ordinal_of(device)},
                                  dispatch::when_full::wait, nullptr);
}
void detail::post_launch(runtime_impl& runtime, launch const& what, detail::device_number device,
                         std::span<task_id const> after) {
  state_of(&runtime).tasks.submit(what, dispatch::order_options{{ordinal_of(device)}, {after}},
                                  dispatch::when_full::wait, nullptr);
}
void detail::post_launch(runtime_impl& runtime, launch const& what, task_options const& options) {
  state_of(&runtime).tasks.submit(what, options, dispatch::when_full::wait, nullptr);
}
namespace {

template <class Command>
bool submit_to(detail::runtime_impl& to, Command& what, task_options const& options,
               detail::if_full how, ticket* made) {
  auto const when_full =
      how == detail::if_full::wait ? dispatch::when_full::wait : dispatch::when_full::collect;
  return state_of(&to).tasks.submit(what, options, when_full, made);
}

}  // namespace

bool detail::submit_work(runtime_impl& to, launch const& what, task_options const& options,
                         if_full how, ticket* made) {
  return submit_to(to, what, options, how, made);
}
bool detail::submit_work(runtime_impl& to, memory_op const& what, task_options const& options,
                         if_full how, ticket* made) {
  return submit_to(to, access::command(what), options, how, made);
}
bool detail::submit_work(runtime_impl& to, callable&& what, task_options const& options,
                         if_full how, ticket* made) {
  return submit_to(to, what, options, how, made);
}
bool detail::submit_work(runtime_impl& to, CUevent_st* event, task_options const& options,
                         if_full how, ticket* made) {
  event_command const what{event};
  return submit_to(to, what, options, how, made);
}

bool runtime::pump() { return state_of(impl_).pump(true); }
void runtime::wait_idle() { state_of(impl_).wait_idle(); }
void runtime::flush_printf() { state_of(impl_).memory.flush_printf(); }
void runtime::close() noexcept { state_of(impl_).usage.close(); }

memory_info runtime::memory(device_ordinal device) const {
  dispatch::runtime_state& state = state_of(impl_);
  memory_info info{};
  state.operations.run(state.valid.checked(device), [&](dispatch::device_driver& driver) {
    context::context_handle const& context = driver.context();
    driver::check(context.api().mem_get_info(&info.free_bytes, &info.total_bytes), "cuMemGetInfo",
                  context.subject());
  });
  return info;
}

device_counters runtime::counters(device_ordinal device) const {
  dispatch::runtime_state const& state = state_of(impl_);
  state.usage.check_process();
  return state.counters(state.valid.checked(device));
}

std::vector<flotilla::worker_counters> runtime::worker_counters() const {
  state_of(impl_).usage.check_process();
  return state_of(impl_).workers.counters();
}

}  // namespace v0_1
}  // namespace flotilla
