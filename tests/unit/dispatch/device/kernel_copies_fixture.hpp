// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// The fixture of tests on copies and fills that kernels execute. Test kernels replace flotilla's
// kernels on CPU devices.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <flotilla/detail/kernel_twin.hpp>
#include <flotilla/flotilla.hpp>
#include <flotilla/testing/fault_injection.hpp>

#include "support/eventually.hpp"
#include "support/guest_test.hpp"
#include "support/hold.hpp"
#include "support/inside.hpp"
#include "support/kernels.hpp"
#include "support/scale.hpp"
#include "support/small_copies.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {

class kernel_copies_test : public guest_test {
 protected:
  static constexpr device_ordinal device{0};
  static constexpr std::size_t small = 4096;  // bytes
  static constexpr char upload_call[] = "cuMemcpyHtoDAsync";

  void TearDown() override {
    testing::clear_faults();
    guest_test::TearDown();
  }
  /// A runtime without workers, so that one pass sees all tasks that were submitted before.
  static runtime make(runtime_options options = {}, dispatch::tuning tuned = {}) {
    if (options.devices.empty()) { options.devices = "cpu:1"; }
    if (options.workers == runtime_options::automatic) { options.workers = 0; }
    tuned.cpu_builtins = stand_ins;
    return make_runtime(std::move(options), tuned);
  }
  static std::uint64_t batches(runtime& rt, device_ordinal of = device) {
    return rt.counters(of).batches;
  }

  /// Copies of `small` bytes each from pinned memory to a device.
  struct uploads {
    uploads(runtime& rt, unsigned copies)
        : count(copies),
          up{rt, copies * small},
          down{rt, copies * small},
          there{rt, device, copies * small} {
      for (std::size_t i = 0; i < up.size(); ++i) { up[i] = small_copies::pattern(i); }
      rt.submit(there.fill(small_copies::untouched)).wait();
    }
    [[nodiscard]] memory_op copy(unsigned i) {
      return there.subspan(i * small, small).copy_from(up.subspan(i * small, small));
    }
    [[nodiscard]] std::vector<ticket> submit(runtime& rt, task_options const& options = {}) {
      std::vector<ticket> made;
      for (unsigned i = 0; i < count; ++i) { made.push_back(rt.submit(copy(i), options)); }
      return made;
    }
    /// Returns for each copy whether all its bytes have arrived. Fails if only some have.
    [[nodiscard]] std::vector<bool> arrived(runtime& rt) {
      rt.submit(there.copy_to(down)).wait();
      std::vector<bool> made;
      for (unsigned i = 0; i < count; ++i) {
        std::size_t right = 0;
        std::size_t clean = 0;
        for (std::size_t at = i * small; at < (i + 1) * small; ++at) {
          right += down[at] == up[at] ? 1 : 0;
          clean += down[at] == small_copies::untouched ? 1 : 0;
        }
        EXPECT_TRUE(right == small || clean == small) << "copy " << i << " has arrived in part";
        made.push_back(right == small);
      }
      return made;
    }
    [[nodiscard]] std::vector<bool> all() const { return std::vector<bool>(count, true); }

    unsigned count;
    host_buffer<std::uint8_t> up, down;
    device_buffer<std::uint8_t> there;
  };

 private:
  static dispatch::builtin_functions stand_ins(context::context_handle const& context) {
    dispatch::builtin_functions made;
    CUmodule module = nullptr;  // destroyed with the context
    driver::table const& api = context.api();
    EXPECT_EQ(api.module_load_data(&module, test_image().cpu), CUDA_SUCCESS);
    auto const get = [&](CUfunction& function, std::string const& name) {
      EXPECT_EQ(api.module_get_function(&function, module, name.c_str()), CUDA_SUCCESS) << name;
    };
    std::string const twin{detail::twin_suffix};
    get(made.copy, "copy_part");
    get(made.copy_twin, "copy_part" + twin);
    get(made.fill, "fill_part");
    get(made.fill_twin, "fill_part" + twin);
    return made;
  }
};

}  // namespace flotilla::test
