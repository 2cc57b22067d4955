// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// The code of docs/data.md.

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "contract/flow_fixture.hpp"
#include "support/kept_log.hpp"

struct divisor {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return std::gcd(a, b); }
};
template <>
struct flotilla::identity_of<divisor, std::uint32_t> {
  static constexpr std::uint32_t value = 0;  // gcd(0, x) == x
};

namespace flotilla::test {
namespace {

/// Stands for a library that enqueues work.
void call_library(CUstream_st* stream, std::uint32_t* data, std::size_t size) {
  EXPECT_NE(stream, nullptr);
  EXPECT_NE(data, nullptr);
  EXPECT_EQ(size, 8u);
}

// clang-format off
class owner_computes final : public flotilla::placement {
 public:
  using choice = std::optional<flotilla::device_ordinal>;
  choice place(std::span<flotilla::device const>, flotilla::task_options const&) override {
    return {};
  }
  choice place_with_data(std::span<flotilla::device const>, flotilla::task_options const&,
                         std::span<flotilla::data_access const> accesses) override {
    for (flotilla::data_access const& each : accesses) {
      if (each.writes && !each.valid_on.empty()) { return each.valid_on.front(); }
    }
    return {};  // the flow chooses
  }
};
// clang-format on

class FlowRecipes : public flow_test {};
FLOTILLA_CONTRACT(FlowRecipes);

// requirement
TEST_P(FlowRecipes, FirstProgram) {
  flotilla::runtime& rt = this->rt();
  flotilla::program const& program = kernels();
  // clang-format off
  std::vector<std::uint32_t> a(1000, 1), b(1000, 2);
  flotilla::flow flow{rt};
  flotilla::data<std::uint32_t> x{flow, a, "x"}, y{flow, b, "y"};
  flotilla::data<std::uint32_t> sum{flow, {1000}, "sum"};  // the flow allocates the memory
  auto const mix = program.kernel(flow_kernels.mix_words).over(1000);

  flow.post(mix(write(sum), read(x), read(y), 1000u, 0u));  // copies x and y to a device
  flow.post(mix(write(x), read(sum), read(y), 1000u, 0u));  // runs after the first task
  flow.post(uses(update(y)), host_task([](flotilla::view<std::uint32_t> on_host) { on_host(0) = 7; }));

  flotilla::view<std::uint32_t const> const result = x.host();  // waits, and copies x to `a`
  // clang-format on
  EXPECT_EQ(result.data, a.data());
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a[i], (1 * 31 + 2 * 17 + i) * 31 + 2 * 17 + i);
  }
  EXPECT_EQ(y.host()(0), 7u);
  EXPECT_EQ(y.host()(1), 2u);
}

// requirement
TEST_P(FlowRecipes, Reductions) {
  flotilla::flow& flow = fl();
  words host(1000, 3);
  word_data x{flow, host, "x"};
  auto const devices = ordinals();
  auto const add = kernels().kernel(flow_kernels.add_words).over(1000);
  // clang-format off
  flotilla::data<std::uint32_t> sum{flow, {1000}, "sum"};
  for (flotilla::device_ordinal device : devices) {
    flow.post(add(reduce(sum), read(x), 1000u, 1u), {.device = device});  // sum += x
  }
  flow.post(uses(reduce(sum, flotilla::maximum{})), host_task([](flotilla::view<std::uint32_t> part) {
    part(0) = std::max(part(0), 5u);
  }));
  std::uint32_t const first = sum.host()(0);
  // clang-format on
  EXPECT_EQ(first, std::max<std::uint32_t>(5, 3 * static_cast<std::uint32_t>(devices.size())));
  EXPECT_EQ(sum.host()(1), 3 * devices.size());
}

// requirement
TEST_P(FlowRecipes, Repetition) {
  flotilla::flow& flow = fl();
  words a_host = iota(1000), c_host(1000, 3);
  word_data a{flow, a_host, "a"}, b{flow, {1000}, "b"}, c{flow, c_host, "c"};
  auto const mix = kernels().kernel(flow_kernels.mix_words).over(1000);
  // clang-format off
  flow.repeat(500, [&] {
    flow.post(mix(write(b), read(a), read(c), 1000u, 1u));
    flow.post(mix(write(a), read(b), read(c), 1000u, 2u));
  });
  // clang-format on
  words expected = a_host;
  for (int i = 0; i < 500; ++i) { expected = mixed(mixed(expected, c_host, 1), c_host, 2); }
  EXPECT_EQ(on_host(a), expected);
}

// requirement
TEST_P(FlowRecipes, Loops) {
  flotilla::flow& flow = fl();
  words host(1000, 3), zeros(1000);
  word_data x{flow, host, "x"}, sum{flow, zeros, "sum"};
  auto const add = kernels().kernel(flow_kernels.add_words).over(1000);
  // clang-format off
  std::size_t const steps = flow.repeat_while(
      sum, [](flotilla::view<std::uint32_t const> now) { return now(0) < 9000; },
      [&] { flow.post(add(reduce(sum), read(x), 1000u, 1u)); }, {.most = 10'000});
  // clang-format on
  EXPECT_EQ(steps, 3008u);  // 3000 are enough, and every 16th is checked
  EXPECT_EQ(on_host(sum), words(1000, 3 * 3008));
}

// requirement: with parts instead of a reduction, a loop is replayed on several devices
TEST_P(FlowRecipes, LoopsOverSeveralDevices) {
  kept_log const log;
  flotilla::flow flow{rt(), {.explain = explanations{.repeat = true}}};
  words host(1000, 3), zeros(1000);
  word_data x{flow, host, "x"}, sum{flow, zeros, "sum"};
  std::vector<device_ordinal> const devices = ordinals();
  std::vector<words> memory(devices.size(), words(1000));
  std::vector<word_data> parts;
  for (words& each : memory) { parts.emplace_back(flow, each); }
  auto const add = kernels().kernel(flow_kernels.add_words).over(1000);
  flow.repeat(100, [&] {
    // clang-format off
    for (std::size_t k = 0; k < parts.size(); ++k) {
      flow.post(add(update(parts[k]), read(x), 1000u, 1u), {.device = devices[k]});
    }
    for (auto& part : parts) { flow.post(add(update(sum), read(part), 1000u, 1u)); }
    // clang-format on
  });
  EXPECT_EQ(on_host(sum), words(1000, device_count() * 3 * (100 * 101 / 2)));
  EXPECT_EQ(log.count("calls its function for each"), log.count("is isolated")) << log.text();
}

// requirement
TEST_P(FlowRecipes, Commuting) {
  flotilla::flow& flow = fl();
  words zeros(1000, 0);
  word_data sum{flow, zeros, "sum"};
  std::vector<words> memory(10, words(1000, 2));
  std::vector<word_data> parts;
  for (words& each : memory) { parts.emplace_back(flow, each); }
  device_ordinal const device = last();
  auto const add = kernels().kernel(flow_kernels.add_words).over(1000);
  // clang-format off
  for (auto& part : parts) {
    flow.post(add(commute(sum), read(part), 1000u, 1u), {.device = device});  // sum += part
  }
  // clang-format on
  EXPECT_EQ(on_host(sum), words(1000, 20));
}

// requirement
TEST_P(FlowRecipes, OwnOperations) {
  word_data x{fl(), {1}, "x"};
  for (std::uint32_t const each : {84u, 36u, 60u}) {
    fl().post(uses(reduce(x, divisor{})),
              host_task([each](view<std::uint32_t> part) { part(0) = divisor{}(part(0), each); }));
  }
  EXPECT_EQ(on_host(x), words{12});
}

// requirement
TEST_P(FlowRecipes, Tokens) {
  flotilla::flow& flow = fl();
  words host = iota(8);
  word_data x{flow, host, "x"};
  std::atomic<bool> saved = false;
  auto const save = [&](view<std::uint32_t const>) { saved = true; };
  auto const check = [&] { EXPECT_TRUE(saved); };
  // clang-format off
  flotilla::token file{flow, "file"};
  flow.post(uses(write(file), read(x)), host_task(save));
  flow.post(uses(read(file)), host_task(check));  // runs after `save`; a token has no view
  // clang-format on
  rt().wait_idle();
}

// requirement
TEST_P(FlowRecipes, Placements) {
  flotilla::runtime rt{flotilla::runtime_options{.devices = device_spec(device_count()),
                                                 .placement = std::make_shared<owner_computes>()}};
  flow flow{rt};
  word_data x{flow, {8}, "x"};
  auto const nothing = [](task_context&, view<std::uint32_t>) {};
  ticket const first = flow.submit(uses(write(x)), nothing, {.device = last()});
  ticket const second = flow.submit(uses(update(x)), nothing);
  second.wait();
  EXPECT_EQ(second.device(), last());
}

// requirement
TEST_P(FlowRecipes, Tiles) {
  flotilla::flow& flow = fl();
  data<std::uint32_t, 2> all{flow, {500, 600}, "all"};
  static_cast<void>(all.host_for_update());
  flotilla::program const& program = kernels();
  auto const work_on_two_tiles = [](view<std::uint32_t const, 2> a, view<std::uint32_t, 2> b) {
    EXPECT_EQ(a.extents[0], 256u);
    EXPECT_EQ(b.extents[0], 244u);
  };
  auto const work_on_all = [](view<std::uint32_t const, 2> in) { EXPECT_EQ(in.extents[1], 600u); };
  // clang-format off
  {
    auto tiles = all.tiles({256, 256});  // `all` is a data<std::uint32_t, 2>
    auto const stir = program.kernel(flow_kernels.stir_matrix).with_shape({1}, {256});
    for (auto& tile : tiles) { flow.post(stir(update(tile), 3u)); }  // takes a view<unsigned, 2>
    flow.post(uses(read(tiles(0, 0)), update(tiles(1, 1))), host_task(work_on_two_tiles));
  }
  flow.post(uses(read(all)), host_task(work_on_all));  // runs after all tasks that write tiles
  // clang-format on
  rt().wait_idle();
}

// requirement
TEST_P(FlowRecipes, Views) {
  flotilla::program const& program = kernels();
  flotilla::flow& flow = fl();
  words matrix = iota(24);
  // clang-format off
  flotilla::data<std::uint32_t, 2> from{flow, matrix, {6, 4}, "from"}, to{flow, {4, 6}, "to"};
  auto const transpose = program.kernel(flow_kernels.transpose_words).with_shape({1}, {8, 8});
  // the parameters of the kernel are view<unsigned const, 2> and view<unsigned, 2>
  flow.post(transpose(read(from), write(to)));
  // clang-format on
  EXPECT_EQ(to.host()(3, 5), 5u * 4 + 3);
}

// requirement
TEST_P(FlowRecipes, Limits) {
  flotilla::runtime& rt = this->rt();
  // clang-format off
  flotilla::flow small{rt, {.memory_limit = std::size_t{64} << 20}};  // on each device
  // clang-format on
  words host = iota(8);
  word_data x{small, host, "x"};
  small.post(stir(x, 1));
  EXPECT_EQ(on_host(x)[1], 4u);
}

// requirement
TEST_P(FlowRecipes, Pictures) {
  flotilla::runtime& rt = this->rt();
  words a = iota(8);
  auto const work = [](task_context&, view<std::uint32_t>) {};
  auto const work_on_const = [](task_context&, view<std::uint32_t const>) {};
  std::string kept;
  {
    // clang-format off
    flotilla::flow flow{rt, {.keeps_graph = true}};
    flotilla::data<std::uint32_t> x{flow, a, "x"};
    flow.post(uses(update(x)), work, {.label = "first"});
    flow.post(uses(read(x)), work_on_const, {.label = "second"});
    std::string const picture = flow.dot();  // for `dot -Tsvg`
    // clang-format on
    kept = picture;
    rt.wait_idle();
  }
  EXPECT_EQ(kept,
            "digraph flow {\n"
            "  t0 [label=\"copy data 'x'\\nhost to device 0\", shape=ellipse];\n"
            "  t1 [label=\"first\\ndevice 0\\nupdate x\", shape=box];\n"
            "  t2 [label=\"second\\ndevice 0\\nread x\", shape=box];\n"
            "  t0 -> t1;\n"
            "  t1 -> t2;\n"
            "}\n");
}

// requirement
TEST_P(FlowRecipes, Callables) {
  flotilla::flow& flow = fl();
  words host = iota(8);
  word_data x{flow, host, "x"};
  // clang-format off
  flow.post(uses(update(x)), [](flotilla::task_context& task, flotilla::view<std::uint32_t> all) {
    call_library(task.stream(), all.data, all.size());  // enqueues work, as cuBLAS does
  });
  // clang-format on
  EXPECT_EQ(on_host(x), iota(8));
}

}  // namespace
}  // namespace flotilla::test
