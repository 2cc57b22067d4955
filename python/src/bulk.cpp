// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <flotilla/detail/bulk_columns.hpp>
#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/error/error.hpp>
#include <flotilla/task/bulk.hpp>

#include "foreign.hpp"
#include "found.hpp"
#include "kernel.hpp"
#include "memory.hpp"
#include "runtime.hpp"

namespace flotilla::python {

namespace {

/// Launches of one kernel, whose arguments are columns.
struct column_items {
  launch what;
  std::vector<detail::bulk_column> columns;
  std::size_t count;
};

/// Launches, copies and fills that the program has made.
struct listed_items {
  std::vector<std::variant<launch const*, memory_op const*>> items;

  void add_to(detail::bulk_sink& to) const {
    for (auto const& item : items) {
      if (auto const* const what = std::get_if<launch const*>(&item)) {
        to.add(*what, 1);
      } else {
        to.add(*std::get<memory_op const*>(item));
      }
    }
  }
};

/// Reads the arguments of a bulk.
class column_reader {
 public:
  column_reader(py_shaped_kernel const& kernel, std::optional<std::size_t> count)
      : kernel_{kernel}, next_{kernel.kernel.arguments()}, count_{count} {}

  void add(nb::handle argument) {
    if (next_.size() < kernel_.signature->parameters.size() &&
        nb::isinstance<each_argument>(argument)) {
      add_column(nb::cast<each_argument const&>(argument).values);
    } else {
      append_argument(next_, *kernel_.owner, *kernel_.signature, argument, kept_);
    }
  }
  [[nodiscard]] column_items finish() && {
    if (!count_) {
      throw invalid_argument(
          "a bulk needs an argument flotilla.Each(values), or the number of items, count");
    }
    return {std::move(next_).finish(), std::move(columns_), *count_};
  }
  [[nodiscard]] nb::object foreign() const { return kept_.foreign(); }
  /// What must stay until the items are submitted.
  [[nodiscard]] nb::list const& values() const noexcept { return values_; }

 private:
  [[nodiscard]] std::string subject() const { return kernel_.signature->subject(next_.size()); }
  [[nodiscard]] kernel_parameter const& parameter() const {
    return kernel_.signature->parameters[next_.size()];
  }

  void check_count(std::vector<std::size_t> const& shape) {
    if (shape.empty()) {
      throw invalid_argument(subject() + ": Each needs an array with dimensions");
    }
    if (count_ && *count_ != shape[0]) {
      throw invalid_argument(subject() + ": Each has " + std::to_string(shape[0]) +
                             " values, but the bulk has " + std::to_string(*count_) + " items");
    }
    count_ = shape[0];
  }

  void add_column(nb::handle values) {
    parameter_type const* const type = kernel_.signature->type(next_.size());
    if (nb::isinstance<py_buffer>(values)) { return add_rows(values); }
    std::optional<array_view> const array = view_array(values);
    if (!array) {
      throw invalid_argument(subject() + ": Each needs an array or a buffer, but got a " +
                             type_of(values) + "; make an array of it, for example with numpy");
    }
    if (type != nullptr && type->is_pointer) { return add_rows(values, *array); }
    check_count(array->shape);
    if (array->is_on_gpu || array->shape.size() != 1) {
      throw invalid_argument(subject() +
                             ": Each needs an array with one dimension in the memory of the host");
    }
    bool const is_same = type == nullptr || type->points_to(array->element);
    if (!is_same || array->element.bytes != parameter().bytes) {
      throw invalid_argument(subject() + ": the values of Each are of the type " +
                             array->element.name() + " and have " +
                             std::to_string(array->element.bytes) + " bytes, but the parameter" +
                             (type != nullptr ? " '" + type->text + "'" : "") + " has " +
                             std::to_string(parameter().bytes) + " bytes" +
                             (type != nullptr ? " and is a " + type->element.name() : ""));
    }
    values_.append(array->kept);
    columns_.push_back({static_cast<std::byte const*>(array->data), 0, array->first_stride,
                        parameter().offset, parameter().bytes});
    std::uint64_t const zeros[2] = {0, 0};
    std::vector<std::byte> const any(parameter().bytes);
    next_.append(any.empty() ? static_cast<void const*>(zeros) : any.data(), parameter().bytes);
  }

  /// Rows of a buffer.
  void add_rows(nb::handle buffer) {
    py_buffer const& rows = nb::cast<py_buffer const&>(buffer);
    check_count(rows.shape);
    auto const stride = rows.shape[0] == 0 ? 0 : rows.bytes() / rows.shape[0];
    std::uint32_t const offset = parameter().offset;
    // Each item uses one row, which the check of the order must know.
    py_buffer first = rows;
    first.shape[0] = std::min<std::size_t>(first.shape[0], 1);
    append_argument(next_, *kernel_.owner, *kernel_.signature, nb::cast(std::move(first)), kept_);
    columns_.push_back({nullptr, rows.address(), static_cast<std::ptrdiff_t>(stride), offset,
                        sizeof(std::uintptr_t)});
  }
  /// Rows of an array of another package.
  void add_rows(nb::handle values, array_view const& rows) {
    check_count(rows.shape);
    std::uint32_t const offset = parameter().offset;
    append_argument(next_, *kernel_.owner, *kernel_.signature, values, kept_);
    columns_.push_back({nullptr, reinterpret_cast<std::uintptr_t>(rows.data), rows.first_stride,
                        offset, sizeof(std::uintptr_t)});
  }

  py_shaped_kernel const& kernel_;
  untyped_launch next_;
  std::optional<std::size_t> count_;
  std::vector<detail::bulk_column> columns_;
  kept_objects kept_;
  nb::list values_;
};

py_ticket submit_columns(core_ptr const& core, py_shaped_kernel const& kernel, nb::handle arguments,
                         std::optional<std::size_t> count, task_options const& options) {
  if (kernel.owner != core) { throw wrong_runtime("the kernel belongs to another runtime"); }
  if (!nb::isinstance<nb::tuple>(arguments) && !nb::isinstance<nb::list>(arguments)) {
    throw invalid_argument("the arguments of a bulk are a tuple or a list, but got a " +
                           type_of(arguments));
  }
  column_reader reader{kernel, count};
  for (nb::handle const each : arguments) { reader.add(each); }
  nb::object const foreign = reader.foreign();
  nb::list const values = reader.values();
  column_items const items = std::move(reader).finish();
  runtime& rt = core->usable();
  ticket made;
  core->without_gil(
      [&] { detail::submit_columns(rt, items.what, items.columns, items.count, options, &made); });
  return {core, std::move(made), foreign};
}

py_ticket submit_list(core_ptr const& core, nb::handle list, task_options const& options) {
  listed_items all;
  nb::list foreign;
  auto const add = [&](core_ptr const& owner, auto const* what, nb::object const& kept) {
    if (owner != core) {
      throw wrong_runtime("item " + std::to_string(all.items.size()) +
                          " of the bulk belongs to another runtime");
    }
    all.items.emplace_back(what);
    if (!kept.is_none()) { foreign.append(kept); }
  };
  for (nb::handle const each : list) {
    if (py_launch const* const launched = found<py_launch>(each)) {
      add(launched->owner, &launched->what, launched->foreign);
    } else if (py_memory_op const* const op = found<py_memory_op>(each)) {
      add(op->owner, &op->what, op->foreign);
    } else {
      throw invalid_argument("item " + std::to_string(all.items.size()) + " of the bulk is a " +
                             type_of(each) + "; an item is a launch, a copy or a fill");
    }
  }
  runtime& rt = core->usable();
  ticket made = core->without_gil([&] {
    return rt.submit(
        detail::bulk_work{all.items.size(), [&](detail::bulk_sink& to) { all.add_to(to); }},
        options);
  });
  return {core, std::move(made), foreign.size() == 0 ? nb::none() : nb::object(foreign)};
}

}  // namespace

py_ticket submit_bulk(nb::handle self, nb::handle what, nb::handle arguments, nb::handle count,
                      given_options const& options) {
  core_ptr const& core = nb::cast<py_runtime const&>(self).core;
  static_cast<void>(core->usable());
  converted_options const converted{options};
  std::optional<std::size_t> items;
  std::int64_t given = 0;
  if (!count.is_none()) {
    if (!nb::try_cast(count, given, false) || given < 0) {
      PyErr_Clear();
      throw invalid_argument(
          "the count of a bulk is a whole number that is not negative, but got " +
          nb::cast<std::string>(nb::repr(count)));
    }
    items = static_cast<std::size_t>(given);
  }
  if (nb::isinstance<py_shaped_kernel>(what)) {
    return submit_columns(core, nb::cast<py_shaped_kernel const&>(what), arguments, items,
                          converted.get());
  }
  if (!nb::isinstance<nb::list>(what) && !nb::isinstance<nb::tuple>(what)) {
    throw invalid_argument(
        "submit_bulk needs a kernel with its shape and arguments, or a list of "
        "launches, copies and fills, but got a " +
        type_of(what));
  }
  // A copy, because other Python threads may change the list while it is submitted.
  nb::tuple const held{what};
  return submit_list(core, held, converted.get());
}

}  // namespace flotilla::python
