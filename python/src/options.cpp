// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
// The keyword arguments of Runtime().
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <flotilla/runtime.hpp>

#include "errors.hpp"
#include "foreign.hpp"
#include "function.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

constexpr std::string_view option_names[] = {"workers",
                                             "window",
                                             "linger_us",
                                             "settings",
                                             "context",
                                             "best_effort",
                                             "on_error",
                                             "checks",
                                             "fuse_launches",
                                             "stuck_after",
                                             "report_calls_longer_than_ms"};

/// The keyword arguments, of which each is read once.
class keywords {
 public:
  explicit keywords(nb::kwargs const& given) : given_{given} {
    for (auto const& [name, value] : given_) { check_name(nb::cast<std::string>(name)); }
  }

  /// Returns the value of an option, or `otherwise` if it is missing or None.
  template <class T>
  [[nodiscard]] T get(char const* name, T otherwise) const {
    nb::object const value = find(name);
    if (value.is_none()) { return otherwise; }
    T found{};
    if (!nb::try_cast(value, found, false)) {
      PyErr_Clear();
      throw invalid_argument("the option '" + std::string{name} + "' of a runtime cannot be a " +
                             type_of(value));
    }
    return found;
  }
  [[nodiscard]] nb::object find(char const* name) const {
    return given_.contains(name) ? nb::object(given_[name]) : nb::none();
  }

 private:
  static void check_name(std::string const& name) {
    if (std::find(std::begin(option_names), std::end(option_names), name) !=
        std::end(option_names)) {
      return;
    }
    std::string all = "devices";
    for (std::string_view const each : option_names) { all.append(", ").append(each); }
    throw invalid_argument("a runtime has no option '" + name + "'; the options are " + all);
  }

  nb::kwargs const& given_;
};

std::string text_of_setting(nb::handle value) {
  if (PyBool_Check(value.ptr()) != 0) { return value.ptr() == Py_True ? "true" : "false"; }
  return nb::cast<std::string>(nb::str(value));
}

settings settings_of(nb::object const& given) {
  if (given.is_none()) { return {}; }
  if (nb::isinstance<nb::str>(given)) { return settings::parse(nb::cast<std::string>(given)); }
  if (!nb::isinstance<nb::dict>(given)) {
    throw invalid_argument("the option 'settings' is a dict or a string, but got a " +
                           type_of(given));
  }
  settings made;
  for (auto const& [key, value] : nb::cast<nb::dict>(given)) {
    made.set(nb::cast<std::string>(nb::str(key)), text_of_setting(value));
  }
  return made;
}

bool has_context(settings const& of) {
  return of.all.context.has_value() ||
         std::any_of(of.devices.begin(), of.devices.end(),
                     [](auto const& each) { return each.second.context.has_value(); });
}

/// CuPy, Numba and PyTorch use the primary context, so it is the default in Python. A division of a
/// device has green contexts.
void set_context(settings& to, std::string const& devices, std::string const& given) {
  if (!given.empty()) {
    to.all.set("context", given);
    return;
  }
  char const* const variable = std::getenv("FLOTILLA_DEVICES");
  std::string const chosen = !devices.empty() ? devices : variable != nullptr ? variable : "";
  bool const has_green = chosen.find("/green") != std::string::npos;
  if (has_green || has_context(to) || has_context(settings::from_environment())) { return; }
  to.all.context = context_source::primary();
}

/// Reads the option 'stuck_after', which is in seconds.
std::chrono::milliseconds milliseconds_of(nb::handle seconds) {
  constexpr double max_seconds = 1e9;  // 30 years
  double const given = PyFloat_AsDouble(seconds.ptr());
  if (PyErr_Occurred() != nullptr || !(given >= 0)) {
    PyErr_Clear();
    throw invalid_argument(
        "the option 'stuck_after' of a runtime must be 0 or more seconds, but is " +
        nb::cast<std::string>(nb::repr(seconds)));
  }
  return std::chrono::milliseconds{
      static_cast<long long>(std::ceil(std::min(given, max_seconds) * 1e3))};
}

}  // namespace

core_ptr make_runtime(std::string const& devices, nb::kwargs const& options) {
  keywords const given{options};
  runtime_options made;
  made.devices = devices;
  made.workers = given.get("workers", runtime_options::automatic);
  if (!given.find("window").is_none()) { made.window = given.get("window", std::size_t{0}); }
  made.linger = std::chrono::microseconds{given.get("linger_us", made.linger.count())};
  made.settings = settings_of(given.find("settings"));
  set_context(made.settings, devices, given.get("context", std::string{}));
  made.best_effort = given.get("best_effort", false);
  made.fuse_launches = given.get("fuse_launches", true);
  made.report_calls_longer_than = std::chrono::milliseconds{
      given.get("report_calls_longer_than_ms", made.report_calls_longer_than.count())};
  if (nb::object const time = given.find("stuck_after"); !time.is_none()) {
    made.stuck_after = milliseconds_of(time);
  }
  if (!given.find("checks").is_none()) {
    made.checks = checks::parse(given.get("checks", std::string{}));
  }
  nb::object const on_error = given.find("on_error");
  if (!on_error.is_none()) {
    if (PyCallable_Check(on_error.ptr()) == 0) {
      throw invalid_argument("the option 'on_error' must be callable, but is a " +
                             type_of(on_error));
    }
    made.on_error = error_function(on_error);
  }
  bool const is_single_threaded = made.workers == 0;
  auto handler = made.on_error;
  std::unique_ptr<runtime> rt;
  {
    nb::gil_scoped_release const released;
    rt = std::make_unique<runtime>(std::move(made));
  }
  return std::make_shared<runtime_core>(std::move(rt), is_single_threaded, std::move(handler));
}

}  // namespace flotilla::python
