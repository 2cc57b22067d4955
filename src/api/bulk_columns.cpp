// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/detail/bulk_columns.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <flotilla/detail/bulk_source.hpp>
#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/task/bulk.hpp>

#include "base/access.hpp"

namespace flotilla {
inline namespace v0_1 {
namespace detail {

namespace {

/// Writes the value of an item into its arguments.
void write(bulk_column const& column, std::byte* arguments, std::size_t item) noexcept {
  std::ptrdiff_t const distance = static_cast<std::ptrdiff_t>(item) * column.stride;
  std::byte* const to = arguments + column.offset;
  if (column.first == nullptr) {
    std::uintptr_t const value = column.address + static_cast<std::uintptr_t>(distance);
    std::memcpy(to, &value, sizeof value);
  } else if (column.bytes == 4) {  // the compiler makes one instruction of it
    std::memcpy(to, column.first + distance, 4);
  } else if (column.bytes == 8) {
    std::memcpy(to, column.first + distance, 8);
  } else {
    std::memcpy(to, column.first + distance, column.bytes);
  }
}

/// Makes the items. Where the runtime can launch many items as one grid, it writes their records.
class column_items {
 public:
  column_items(launch const& common, std::span<bulk_column const> columns, std::size_t count)
      : item_{common}, columns_{columns}, count_{count} {}

  void add_all(bulk_sink& to) {
    launches_form form{{access::impl(item_), access::kernel_index(item_)},
                       {item_.grid(), item_.block(), item_.dynamic_shared_bytes()},
                       static_cast<std::uint32_t>(item_.argument_bytes()),
                       item_.device()};
    // `is_special`: attributes, a size of clusters in the source, buffers on several devices.
    bool const may_have_records =
        !access::marks(item_).is_special && item_.argument_bytes() <= launch::inline_bytes;
    while (next_ < count_) {
      chunk_room const room =
          may_have_records ? to.begin_chunk(form) : chunk_room{nullptr, count_ - next_};
      std::size_t const items = std::min(room.items, count_ - next_);
      if (room.records == nullptr) {
        add_alone(to, items);
      } else {
        write_records(room.records, items);
        to.end_chunk(items);
      }
    }
  }

 private:
  void add_alone(bulk_sink& to, std::size_t items) {
    std::byte* const arguments = launch_builder::arguments(item_);
    for (std::size_t const end = next_ + items; next_ < end; ++next_) {
      for (bulk_column const& each : columns_) { write(each, arguments, next_); }
      to.add(&item_, 1);
    }
  }
  void write_records(std::byte* record, std::size_t items) noexcept {
    extent const grid = item_.grid();
    std::size_t const bytes = item_.argument_bytes();
    std::uint32_t const stride = twin_record_stride(static_cast<std::uint32_t>(bytes));
    twin_record head{0, {grid.x, grid.y, grid.z}};
    for (std::size_t const end = next_ + items; next_ < end; ++next_, record += stride) {
      std::byte* const arguments = record + sizeof head;
      std::memcpy(record, &head, sizeof head);
      std::memcpy(arguments, item_.arguments(), bytes);
      for (bulk_column const& each : columns_) { write(each, arguments, next_); }
      head.first_block += grid.x * grid.y * grid.z;
    }
  }

  launch item_;
  std::span<bulk_column const> const columns_;
  std::size_t const count_;
  std::size_t next_ = 0;  // the next item
};

}  // namespace

void submit_columns(runtime& rt, launch const& common, std::span<bulk_column const> columns,
                    std::size_t count, task_options const& options, ticket* made) {
  column_items items{common, columns, count};
  bulk_work all{count, [&](bulk_sink& to) { items.add_all(to); }};
  if (made == nullptr) { return rt.post(std::move(all), options); }
  *made = rt.submit(std::move(all), options);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
