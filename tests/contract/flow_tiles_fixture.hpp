// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of tiles have in common.

#include <cstddef>
#include <initializer_list>

#include "contract/flow_fixture.hpp"

namespace flotilla::test {

using matrix = data<std::uint32_t, 2>;
using box = data<std::uint32_t, 3>;

class flow_tiles_test : public flow_test {
 protected:
  static constexpr std::size_t rows = 10, columns = 14;
  static constexpr std::size_t size = rows * columns;

  [[nodiscard]] data_launch stir(matrix& all, std::uint32_t salt) {
    return kernels().kernel(flow_kernels.stir_matrix).with_shape({1}, {32})(update(all), salt);
  }
  [[nodiscard]] data_launch stir(box& all, std::uint32_t salt) {
    return kernels().kernel(flow_kernels.stir_box).with_shape({1}, {32})(update(all), salt);
  }
  /// Stirs each tile on another device or on the host.
  template <class Tiles>
  void stir_all(Tiles& tiles, std::uint32_t salt) {
    std::size_t i = 0;
    for (auto& each : tiles) {
      if (i % 3 == 2) {
        fl().post(uses(update(each)),
                  host_task([salt](auto on_host) { stir_view(on_host, salt); }));
      } else {
        fl().post(stir(each, salt), {.device = ordinals()[i % ordinals().size()]});
      }
      ++i;
    }
  }
  static void stir_view(view<std::uint32_t, 2> all, std::uint32_t salt) {
    for (std::size_t i = 0; i < all.extents[0]; ++i) {
      stir_on_host(&all(i, 0), all.extents[1], salt);
    }
  }
  static void stir_view(view<std::uint32_t, 3> all, std::uint32_t salt) {
    for (std::size_t i = 0; i < all.extents[0]; ++i) {
      for (std::size_t j = 0; j < all.extents[1]; ++j) {
        stir_on_host(&all(i, j, 0), all.extents[2], salt);
      }
    }
  }
  [[nodiscard]] static words stirred(words from, std::initializer_list<std::uint32_t> salts) {
    for (std::uint32_t const salt : salts) { stir_on_host(from.data(), from.size(), salt); }
    return from;
  }
  template <class Data>
  [[nodiscard]] static words contents(Data& of) {
    auto const seen = of.host();
    return {seen.data, seen.data + seen.size()};
  }
};

}  // namespace flotilla::test
