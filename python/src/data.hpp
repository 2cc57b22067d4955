// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Logical data and tokens of a flow, and their uses by tasks.

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/detail/data_use.hpp>
#include <flotilla/kernel/data_launch.hpp>

#include "core.hpp"
#include "element.hpp"
#include "flow.hpp"
#include "kernel.hpp"
#include "memory.hpp"

namespace flotilla::python {

using datum_pointer = std::unique_ptr<detail::datum, detail::datum_deleter>;

/// The memory of the program from which data were made. Only one of the members is used.
struct data_memory {
  nb::object array;                 // keeps an array
  std::shared_ptr<storage> buffer;  // of a Buffer
};

struct py_data;

/// Data or a token. Arrays that view the data on the host share it.
/// Threads: the caller of each function must hold the GIL. It guards all members.
class held_data final : public owned_part, public std::enable_shared_from_this<held_data> {
 public:
  /// The objects of data. A token has none.
  struct layout {
    element_type element;
    std::vector<std::size_t> extents;
    [[nodiscard]] bool is_token() const noexcept { return extents.empty(); }
  };
  held_data(std::shared_ptr<flow_core> flow, datum_pointer state, layout of, data_memory memory,
            std::string label);
  held_data(held_data const&) = delete;
  held_data& operator=(held_data const&) = delete;
  ~held_data() override;

  [[nodiscard]] flow_core& flow() const noexcept { return *flow_; }
  [[nodiscard]] layout const& objects() const noexcept { return layout_; }
  /// "data 'label'" or "a token", for messages.
  [[nodiscard]] std::string text() const;

  /// Refers to the data during a call without the GIL, so that `close` waits for the call.
  class user {
   public:
    /// @throws runtime_closed, invalid_handle  The runtime, the cluster or the data are closed.
    explicit user(std::shared_ptr<held_data> data);
    user(user&& other) noexcept = default;
    user& operator=(user&&) = delete;
    ~user() {
      if (data_ != nullptr) { --data_->calls_; }
    }
    [[nodiscard]] detail::datum& state() const noexcept { return *data_->state_; }

   private:
    friend class held_data;
    /// For `close`, after which the data cannot be used otherwise.
    user(std::size_t& calls, std::shared_ptr<held_data> data) : data_{std::move(data)} { ++calls; }
    std::shared_ptr<held_data> data_;
  };

  /// Ends the data. The memory stays as long as an array views it. The second call does nothing.
  void close();
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }

  /// Between these calls, an array of Python views the data, and they do not end.
  void begin_export() noexcept { ++exports_; }
  void end_export() noexcept;
  [[nodiscard]] bool is_viewed() const noexcept { return exports_ != 0; }
  /// Whether the data were made from an array.
  [[nodiscard]] bool is_of_program() const noexcept {
    return memory_.array.is_valid() && !memory_.array.is_none();
  }

  /// Between these calls the program uses the data on the host, so tasks must not use them.
  /// @param change  Whether the program changes the data.
  void begin_view(bool change) noexcept { ++(change ? changes_ : views_); }
  void end_view(bool change) noexcept { --(change ? changes_ : views_); }
  /// @throws invalid_argument  A task with this access must not be submitted now.
  void check_access(detail::access_mode mode) const;
  /// @throws invalid_argument  The program views the data, or an array of Python does.
  void check_not_viewed(char const* call) const;

  /// Makes the Python object of a tile. It keeps the memory from which the whole data were made.
  [[nodiscard]] py_data make_tile(datum_pointer state, layout of, std::size_t index) const;

  bool free() noexcept override;
  void begin_end() noexcept override;
  /// See detail::set_write_back.
  void set_write_back(bool on);
  [[nodiscard]] bool is_written_back() const noexcept { return is_written_back_; }

 private:
  void end_state() noexcept;

  std::shared_ptr<flow_core> const flow_;
  datum_pointer state_;  // null after the end
  layout const layout_;
  data_memory memory_;
  std::string const label_;
  bool is_closed_ = false;
  bool is_written_back_ = true;
  std::size_t calls_ = 0;    // calls that use the data without the GIL
  std::size_t exports_ = 0;  // arrays that view the data
  std::size_t views_ = 0;    // open views of the program that only read
  std::size_t changes_ = 0;  // and those that change the data
};

/// The Python object of data or of a token.
struct py_data {
  std::shared_ptr<held_data> held;
};

/// A use of data by a task.
struct py_use {
  std::shared_ptr<held_data> data;
  detail::access_mode mode;
  detail::reduction const* how;  // if the mode is `reduce`; else null
};

/// The uses of a task during its submit.
class used_data {
 public:
  /// Adds a use. @throws wrong_runtime, invalid_argument, invalid_handle, runtime_closed
  detail::datum_use add(flow_core const& flow, py_use const& use);
  [[nodiscard]] std::vector<detail::datum_use> const& uses() const noexcept { return uses_; }

 private:
  std::vector<held_data::user> users_;
  std::vector<detail::datum_use> uses_;
};

/// Makes a launch whose arguments can be uses of data.
/// @param uses  Gets the uses, which must exist until the launch was submitted.
/// @throws invalid_argument, wrong_runtime, invalid_handle
[[nodiscard]] data_launch make_data_launch(flow_core const& flow, py_shaped_kernel const& kernel,
                                           nb::args const& arguments, used_data& uses,
                                           kept_objects& kept);

/// Returns the operation of a reduction, such as "sum", for a type of elements.
/// @throws invalid_argument  There is no such operation for the type.
[[nodiscard]] detail::reduction const* find_reduction(std::string const& name,
                                                      element_type const& element);

/// Makes a NumPy array of the objects at a place.
/// @param owner  Keeps the memory.
[[nodiscard]] nb::object array_at(held_data::layout const& of, detail::placed_data const& at,
                                  bool is_read_only, nb::handle owner);

/// Returns the distance in bytes from an object to the next in each dimension.
[[nodiscard]] std::vector<std::size_t> strides_of(held_data::layout const& of,
                                                  detail::placed_data const& at);

/// Makes data from an array or a Buffer.
[[nodiscard]] py_data make_data(std::shared_ptr<flow_core> const& flow, nb::handle from,
                                nb::handle label);
/// Makes data without contents.
[[nodiscard]] py_data make_empty(std::shared_ptr<flow_core> const& flow, nb::handle shape,
                                 nb::handle dtype, nb::handle label);
[[nodiscard]] py_data make_token(std::shared_ptr<flow_core> const& flow, nb::handle label);
/// Data that are divided into tiles.
struct py_tiles {
  std::vector<py_data> tiles;       // in row-major order
  std::vector<std::size_t> counts;  // in each dimension
};
/// Divides data.
/// @param owners  None, the ranks that own the tiles, or a function that returns them for a number
///                of tiles.
/// @throws invalid_argument, invalid_handle, rank_failed
[[nodiscard]] py_tiles divide(py_data const& whole, nb::handle tile, nb::handle owners);

void bind_tiles(nb::module_& to);
void bind_data(nb::module_& to);

}  // namespace flotilla::python
