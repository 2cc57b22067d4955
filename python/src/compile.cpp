// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compile.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <flotilla/kernel/compile.hpp>

#include "errors.hpp"
#include "foreign.hpp"

namespace flotilla::python {

namespace {

/// Reads the keyword arguments of Runtime.compile.
class keyword_reader {
 public:
  explicit keyword_reader(nb::kwargs const& from) : from_(from) {}

  void read(char const* name, std::string& into) {
    if (nb::handle const given = find(name); given.is_valid()) { into = text(name, given); }
  }
  void read(char const* name, std::filesystem::path& into) {
    if (nb::handle const given = find(name); given.is_valid()) { into = path(given); }
  }
  void read(char const* name, bool& into) {
    if (nb::handle const given = find(name); given.is_valid()) {
      int const truth = PyObject_IsTrue(given.ptr());
      if (truth < 0) { nb::raise_python_error(); }
      into = truth == 1;
    }
  }
  template <class Number>
  void read_number(char const* name, Number& into) {
    nb::handle const given = find(name);
    if (!given.is_valid()) { return; }
    if (!nb::try_cast(given, into)) { refuse(name, "a number", given); }
  }
  void read(char const* name, std::vector<std::string>& into) {
    for_each(name, [&](nb::handle each) { into.push_back(text(name, each)); });
  }
  void read(char const* name, std::vector<std::filesystem::path>& into) {
    for_each(name, [&](nb::handle each) { into.emplace_back(path(each)); });
  }
  void check_all_known() const {
    for (auto [key, value] : from_) {
      std::string const name = nb::cast<std::string>(key);
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        throw invalid_argument("compile has no option '" + name + "'");
      }
    }
  }

 private:
  /// @return an invalid handle if the option is missing or None
  nb::handle find(char const* name) {
    known_.emplace_back(name);
    if (!from_.contains(name)) { return {}; }
    nb::handle const given = from_[name];
    return given.is_none() ? nb::handle{} : given;
  }
  template <class Visit>
  void for_each(char const* name, Visit const& visit) {
    nb::handle const given = find(name);
    if (!given.is_valid()) { return; }
    if (nb::isinstance<nb::str>(given) || PySequence_Check(given.ptr()) == 0) {
      refuse(name, "a list of texts", given);
    }
    for (nb::handle const each : given) { visit(each); }
  }
  static std::string text(char const* name, nb::handle given) {
    if (!nb::isinstance<nb::str>(given)) { refuse(name, "a text", given); }
    return nb::cast<std::string>(given);
  }
  static std::string path(nb::handle given) {
    nb::object const made = nb::steal(PyOS_FSPath(given.ptr()));
    if (!made.is_valid()) { nb::raise_python_error(); }
    return nb::cast<std::string>(made);
  }
  [[noreturn]] static void refuse(char const* name, char const* wanted, nb::handle given) {
    throw invalid_argument("the option '" + std::string{name} + "' of compile must be " + wanted +
                           ", but is a " + type_of(given));
  }

  nb::kwargs const& from_;
  std::vector<std::string> known_;
};

compile_options options_from(nb::kwargs const& given) {
  compile_options made;
  keyword_reader in{given};
  in.read("name", made.name);
  in.read("defines", made.defines);
  in.read("include_directories", made.include_directories);
  in.read("name_expressions", made.name_expressions);
  in.read_number("standard", made.standard);
  in.read("fast_math", made.fast_math);
  in.read("fused", made.fused);
  in.read("gpu_options", made.gpu_options);
  in.read("cpu_options", made.cpu_options);
  in.read("cpu_compiler", made.cpu_compiler);
  in.read("nvrtc", made.nvrtc);
  double seconds = std::chrono::duration<double>(made.timeout).count();
  in.read_number("timeout", seconds);
  if (!(seconds > 0 && seconds < 1e9)) {
    throw invalid_argument("the option 'timeout' of compile must be a number of seconds above 0");
  }
  made.timeout = std::chrono::milliseconds{static_cast<long long>(std::ceil(seconds * 1e3))};
  in.read("cache", made.cache);
  in.read("cache_directory", made.cache_directory);
  in.read_number("cache_bytes", made.cache_bytes);
  in.check_all_known();
  return made;
}

}  // namespace

py_program compile(py_runtime const& self, std::string const& source, nb::kwargs const& given) {
  runtime& rt = self.core->usable();
  compile_options options = options_from(given);
  if (options.nvrtc.empty() && rt.devices()[0].kind == device_kind::gpu) {
    // NVIDIA's wheels are not where the dynamic loader searches.
    nb::object const found = nb::module_::import_("flotilla._nvrtc").attr("find")();
    options.nvrtc = nb::cast<std::string>(found);
  }
  return {self.core,
          self.core->without_gil([&] { return flotilla::compile(rt, source, options); })};
}

}  // namespace flotilla::python
