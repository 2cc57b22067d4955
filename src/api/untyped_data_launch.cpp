// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include <flotilla/kernel/untyped_data_launch.hpp>

#include <cstdint>
#include <string>

#include <flotilla/data/view.hpp>
#include <flotilla/error/error.hpp>

namespace flotilla {
inline namespace v0_1 {

namespace {

template <int Rank>
void append_view(untyped_launch& to, std::span<std::size_t const> extents) {
  // The flow writes the address, and the pitches of a view of two or three dimensions.
  view<std::byte, Rank> made{};
  if constexpr (Rank == 1) { made.pitch = extents[0]; }
  for (std::size_t i = 0; i < Rank; ++i) { made.extents[i] = extents[i]; }
  to.append(&made, sizeof made);
}

std::size_t view_bytes(std::size_t rank) noexcept {
  switch (rank) {
    case 1: return sizeof(view<std::byte, 1>);
    case 2: return sizeof(view<std::byte, 2>);
    default: return sizeof(view<std::byte, 3>);
  }
}

}  // namespace

void untyped_data_launch::append(detail::datum_use const& use, detail::data_shape const& shape) {
  std::size_t const index = plain_.size(), rank = shape.extents.size();
  auto const& signature = plain_.signature_;
  auto const refuse = [&](std::string const& why) {
    throw invalid_argument("kernel '" + std::string{signature.name} + "', argument " +
                           std::to_string(index) + ": " + why);
  };
  if (count_ == detail::max_uses) {
    refuse("a launch can use at most " + std::to_string(detail::max_uses) + " data");
  }
  std::uintptr_t const unknown = 0;
  bool const is_last = index >= signature.parameters.size();
  std::size_t const bytes = is_last ? sizeof unknown : signature.parameters[index].bytes;
  bool const is_pointer = bytes == sizeof unknown;
  if (!is_pointer && bytes != view_bytes(rank)) {
    refuse("the parameter has " + std::to_string(bytes) + " bytes, but a pointer to data has " +
           std::to_string(sizeof unknown) + " bytes, and a view of " + std::to_string(rank) +
           (rank == 1 ? " dimension has " : " dimensions has ") + std::to_string(view_bytes(rank)));
  }
  if (is_pointer) {
    plain_.append(&unknown, sizeof unknown);  // refuses it if the kernel has no such parameter
  } else {
    rank == 1   ? append_view<1>(plain_, shape.extents)
    : rank == 2 ? append_view<2>(plain_, shape.extents)
                : append_view<3>(plain_, shape.extents);
  }
  uses_[count_] = use;
  arguments_[count_] = {static_cast<std::uint16_t>(signature.parameters[index].offset),
                        is_pointer ? std::uint8_t{0} : static_cast<std::uint8_t>(rank),
                        static_cast<std::uint32_t>(shape.object_bytes)};
  ++count_;
}

data_launch untyped_data_launch::finish() const {
  data_launch made{launch{plain_.complete()}};
  for (std::size_t i = 0; i < count_; ++i) { made.add(uses_[i], arguments_[i]); }
  return made;
}

namespace detail {

void append_use(untyped_data_launch& to, datum_use const& use, data_shape const& shape) {
  to.append(use, shape);
}

}  // namespace detail
}  // namespace v0_1
}  // namespace flotilla
