// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "loop.hpp"

#include <nanobind/stl/optional.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <flotilla/error/error.hpp>

#include "data.hpp"
#include "errors.hpp"
#include "function.hpp"

namespace flotilla::python {

namespace {

/// Marks that the flow repeats tasks, until the end of the block.
class repeat_scope {
 public:
  explicit repeat_scope(flow_core& flow) noexcept : flow_{flow} { flow_.begin_repeat(); }
  repeat_scope(repeat_scope const&) = delete;
  repeat_scope& operator=(repeat_scope const&) = delete;
  ~repeat_scope() { flow_.end_repeat(); }

 private:
  flow_core& flow_;
};

/// @throws invalid_argument  The number is negative.
[[nodiscard]] std::size_t checked(std::int64_t number, char const* name) {
  if (number < 0) {
    throw invalid_argument(std::string{name} + " must not be negative, but is " +
                           std::to_string(number));
  }
  return static_cast<std::size_t>(number);
}

void run_iteration(nb::callable const& iteration) {
  nb::gil_scoped_acquire const gil;
  inside_loop const inside;
  run_signal_handlers();
  interruptible_call::raise_in_this_thread();
  iteration();
}

void repeat(py_flow const& self, std::int64_t count, nb::callable const& iteration) {
  std::size_t const times = checked(count, "the number of repetitions");
  std::shared_ptr<flow_core> const flow = self.core;
  static_cast<void>(flow->usable());
  repeat_scope const repeating{*flow};
  flow->without_gil(
      [&](flotilla::flow& to) { to.repeat(times, [&] { run_iteration(iteration); }); });
}

[[nodiscard]] std::size_t repeat_while(py_flow const& self, py_data const& value,
                                       nb::callable const& condition, nb::callable const& iteration,
                                       std::optional<std::int64_t> most, std::int64_t check_every) {
  loop_options options{.check_every = checked(check_every, "check_every")};
  if (most) { options.most = checked(*most, "most"); }
  std::shared_ptr<flow_core> const flow = self.core;
  static_cast<void>(flow->usable());
  repeat_scope const repeating{*flow};
  held_data::user const use{value.held};
  auto const goes_on = [&](detail::placed_data const& at) {
    nb::gil_scoped_acquire const gil;
    inside_loop const inside;
    // A copy, because the function may keep the array.
    nb::object const array = array_at(value.held->objects(), at, true, nb::none()).attr("copy")();
    return nb::cast<bool>(nb::bool_(condition(array)));
  };
  return flow->without_gil([&](flotilla::flow& to) {
    return detail::repeat_while(
        to, {&use.state(), detail::access_mode::read, nullptr}, goes_on,
        [&] { run_iteration(iteration); }, options);
  });
}

}  // namespace

void bind_loops(nb::class_<py_flow>& to) {
  using namespace nb::literals;
  to.def("repeat", repeat, "count"_a, "iteration"_a,
         "Calls iteration() `count` times, or replays the tasks that it posts: it must post the "
         "same tasks each time, and do nothing else.");
  to.def("repeat_while", repeat_while, "value"_a, "condition"_a, "iteration"_a, nb::kw_only(),
         "most"_a = nb::none(), "check_every"_a = 16,
         nb::sig("def repeat_while(self, value: Data, condition: "
                 "collections.abc.Callable[[numpy.typing.NDArray[typing.Any]], object], iteration: "
                 "collections.abc.Callable[[], object], *, most: int | None = None, check_every: "
                 "int = 16) -> int"),
         "Repeats iteration(), at most `most` times, until condition(array) is false. After every "
         "`check_every` iterations, the condition gets the value as a NumPy array. Returns the "
         "number of iterations.");
}

}  // namespace flotilla::python
