// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Flows: random tasks over matrices, which are divided and joined at random, compute the same as a
// serial program.

#include <functional>
#include <optional>
#include <random>

#include "contract/flow_random.hpp"
#include "support/scale.hpp"

namespace flotilla::test {
namespace {

using matrix = data<std::uint32_t, 2>;

/// A rectangle of a matrix on the host.
struct rectangle {
  words& all;
  std::size_t columns;
  std::array<std::size_t, 2> first, extents;

  void stir(std::uint32_t salt) const {
    for (std::size_t i = 0; i < extents[0]; ++i) {
      stir_on_host(all.data() + (first[0] + i) * columns + first[1], extents[1], salt);
    }
  }
  /// What add_to_matrix computes.
  void add(std::uint32_t salt) const {
    for (std::size_t i = 0; i < extents[0]; ++i) {
      for (std::size_t j = 0; j < extents[1]; ++j) {
        all[(first[0] + i) * columns + first[1] + j] +=
            salt + static_cast<std::uint32_t>(i * extents[1] + j);
      }
    }
  }
  [[nodiscard]] bool is_equal(view<std::uint32_t const, 2> const& to) const {
    for (std::size_t i = 0; i < extents[0]; ++i) {
      for (std::size_t j = 0; j < extents[1]; ++j) {
        if (to(i, j) != all[(first[0] + i) * columns + first[1] + j]) { return false; }
      }
    }
    return true;
  }
};

/// A matrix of a flow that is divided at times, and what it must contain.
struct divided {
  words host;  // the memory of `whole`
  words serial{};
  matrix whole{};
  std::optional<tile_array<std::uint32_t, 2>> tiles{};
  std::array<std::size_t, 2> tile{};
};

class FlowTilesRandom : public flow_test {
 protected:
  static constexpr std::size_t rows = 7, columns = 9;

  void SetUp() override {
    flow_test::SetUp();
    flow_.emplace(rt(), flow_options{.memory_limit = 4 * 512});
  }
  void TearDown() override {
    flow_.reset();
    flow_test::TearDown();
  }

  [[nodiscard]] divided make(std::uint32_t salt) {
    divided made{.host = iota(rows * columns, salt)};
    made.serial = made.host;
    made.whole = matrix{*flow_, made.host, {rows, columns}, "matrix"};
    return made;
  }
  void one_step(divided& which, std::mt19937& random);
  /// Stirs data, adds to them, or compares them with the rectangle.
  void use(matrix& data, rectangle const& same, std::mt19937& random);
  void run(unsigned seed, std::function<void(std::mt19937&)> const& disturb) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random{seed};
    std::vector<divided> all;
    for (std::uint32_t i = 0; i < 3; ++i) { all.push_back(make(i * 1000)); }
    for (int step = 0; step < 150; ++step) {
      disturb(random);
      one_step(all[random() % all.size()], random);
    }
    for (divided& each : all) {
      each.tiles.reset();
      while (!succeeds([&] { static_cast<void>(each.whole.host()); })) {}
      EXPECT_EQ(each.host, each.serial);
    }
  }

 private:
  std::optional<flow> flow_;
};
FLOTILLA_CONTRACT(FlowTilesRandom);

void FlowTilesRandom::use(matrix& data, rectangle const& same, std::mt19937& random) {
  auto const salt = static_cast<std::uint32_t>(random());
  task_options options;
  if (random() % 2 != 0) { options.device = ordinals()[random() % ordinals().size()]; }
  switch (random() % 8) {
    case 0: succeeds([&] { EXPECT_TRUE(same.is_equal(data.host())); }); break;
    case 1: succeeds([&] { data.prefetch_to(options.device.value_or(last())); }); break;
    case 2:
    case 3:
      if (succeeds([&] {
            flow_->post(uses(update(data)), host_task([salt](view<std::uint32_t, 2> on_host) {
                          for (std::size_t i = 0; i < on_host.extents[0]; ++i) {
                            stir_on_host(&on_host(i, 0), on_host.extents[1], salt);
                          }
                        }));
          })) {
        same.stir(salt);
      }
      break;
    case 4:
    case 5:
      if (succeeds([&] {
            flow_->post(kernels()
                            .kernel(flow_kernels.add_to_matrix)
                            .with_shape({1}, {32})(reduce(data), salt),
                        options);
          })) {
        same.add(salt);
      }
      break;
    default:
      if (succeeds([&] {
            flow_->post(kernels()
                            .kernel(flow_kernels.stir_matrix)
                            .with_shape({1}, {32})(update(data), salt),
                        options);
          })) {
        same.stir(salt);
      }
  }
}

void FlowTilesRandom::one_step(divided& which, std::mt19937& random) {
  if (!which.tiles) {
    if (random() % 4 != 0) {
      return use(which.whole, {which.serial, columns, {0, 0}, {rows, columns}}, random);
    }
    which.tile = {1 + random() % rows, 1 + random() % columns};
    succeeds([&] { which.tiles = which.whole.tiles(which.tile); });
    return;
  }
  if (random() % 12 == 0) { return which.tiles.reset(); }
  std::size_t const i = random() % which.tiles->extents()[0];
  std::size_t const j = random() % which.tiles->extents()[1];
  matrix& tile = (*which.tiles)(i, j);
  use(tile, {which.serial, columns, {i * which.tile[0], j * which.tile[1]}, tile.extents()},
      random);
}

// stress
TEST_P(FlowTilesRandom, SameAsASerialProgram) {
  for (unsigned i = 0; i < scaled(seeds_of_arrangement) && !HasFailure(); ++i) {
    run(first_seed() + i, [](std::mt19937&) {});
  }
}

// stress
TEST_P(FlowTilesRandom, SameIfCallsAreSlowOrHaveNoMemory) {
  FLOTILLA_NEED_CPU_DRIVER();
  for (unsigned i = 0; i < scaled(seeds_of_arrangement) && !HasFailure(); ++i) {
    run(first_seed() + i, disturb_driver);
    testing::clear_faults();
  }
}

}  // namespace
}  // namespace flotilla::test
