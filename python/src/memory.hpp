// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// Buffers: memory of devices, pinned memory of the host, and views of memory of other packages.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <flotilla/memory/device_buffer.hpp>
#include <flotilla/memory/host_buffer.hpp>
#include <flotilla/memory/memory_op.hpp>

#include "core.hpp"
#include "element.hpp"

namespace flotilla::python {

/// Memory of another package, which `kept` keeps.
struct foreign_memory {
  device_span<std::byte> span;
  nb::object kept;
};

/// Memory of a runtime. The buffers that view it share it.
/// Threads: the caller of each function must hold the GIL.
class storage final : public owned_part {
 public:
  using kinds = std::variant<std::monostate, device_buffer<std::byte>, host_buffer<std::byte>,
                             foreign_memory>;
  storage(core_ptr owner, kinds memory);
  storage(storage const&) = delete;
  storage& operator=(storage const&) = delete;
  ~storage() override;

  [[nodiscard]] core_ptr const& owner() const noexcept { return owner_; }
  /// @throws runtime_closed  The runtime has freed the memory.
  [[nodiscard]] kinds& memory();
  [[nodiscard]] bool is_pinned() const noexcept {
    return std::holds_alternative<host_buffer<std::byte>>(memory_);
  }
  /// Whether the memory belongs to another package.
  [[nodiscard]] bool is_foreign() const noexcept {
    return std::holds_alternative<foreign_memory>(memory_);
  }
  /// Whether the host can read and write the memory.
  [[nodiscard]] bool is_on_host() const {
    return is_pinned() || (std::holds_alternative<device_buffer<std::byte>>(memory_) &&
                           !owner_->has_gpus() && !is_isolated());
  }
  /// Whether only the process of an isolated device can use the memory.
  [[nodiscard]] bool is_isolated() const;
  [[nodiscard]] std::uintptr_t address();

  /// Between these calls, arrays outside view the memory, and it is not freed.
  void begin_export() noexcept { ++exports_; }
  void end_export() noexcept;

  bool free() noexcept override;

 private:
  core_ptr const owner_;
  kinds memory_;
  std::size_t exports_ = 0;
};

/// An array in the memory of a storage, contiguous in the order of C.
struct py_buffer {
  std::shared_ptr<storage> memory;
  std::size_t offset = 0;  // bytes
  element_type element;
  std::vector<std::size_t> shape;

  [[nodiscard]] std::size_t size() const noexcept;  // elements
  [[nodiscard]] std::size_t bytes() const noexcept { return size() * element.bytes; }
  [[nodiscard]] runtime_core& owner() const noexcept { return *memory->owner(); }
  [[nodiscard]] bool is_pinned() const noexcept { return memory->is_pinned(); }
  /// The address of the first element. 0 if the buffer is empty.
  [[nodiscard]] std::uintptr_t address() const { return memory->address() + offset; }
  /// The memory on the device. The memory must not be pinned.
  [[nodiscard]] device_span<std::byte> on_device() const;
  /// "a buffer of 3 x 4 float32", for messages.
  [[nodiscard]] std::string text() const;
};

/// A copy or fill, and the objects whose memory it uses.
struct py_memory_op {
  core_ptr owner;
  memory_op what;
  nb::object kept;     // buffers and arrays
  nb::object foreign;  // what keeps memory of another package, or none
};

/// Returns the shape that a caller has given as a number or a sequence.
/// @throws invalid_argument  A size is negative, or the elements need more bytes than there are.
[[nodiscard]] std::vector<std::size_t> shape_of(nb::handle given, element_type const& element);

/// Makes a buffer in the memory of a device, or pinned memory.
[[nodiscard]] py_buffer make_buffer(core_ptr const& owner, nb::handle shape, nb::handle dtype,
                                    unsigned device, bool is_pinned);
/// Makes a buffer that views memory of another package.
[[nodiscard]] py_buffer view_foreign(core_ptr const& owner, nb::handle array, unsigned device);

[[nodiscard]] py_memory_op copy_from(py_buffer const& to, nb::handle from);
[[nodiscard]] py_memory_op copy_to(py_buffer const& from, nb::handle to);
[[nodiscard]] py_memory_op fill(py_buffer const& to, nb::handle value);

/// The type of elements in DLPack.
[[nodiscard]] nb::dlpack::dtype dlpack_type(element_type const& of);

void bind_memory(nb::module_& to);

}  // namespace flotilla::python
