// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Programs: kernels by name, global variables of each device, and valid and invalid image files.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include <flotilla/testing/fault_injection.hpp>

#include "support/child.hpp"
#include "support/contract_test.hpp"

namespace flotilla::test {
namespace {

/// A file in the temporary directory. The destructor deletes the file.
class temporary_file {
 public:
  temporary_file(std::string const& name, std::span<char const> bytes)
      : path_{std::filesystem::temp_directory_path() /
              ("flotilla_" + std::to_string(getpid()) + "_" + name)} {
    std::ofstream{path_, std::ios::binary}.write(bytes.data(),
                                                 static_cast<std::streamsize>(bytes.size()));
  }
  ~temporary_file() { std::filesystem::remove(path_); }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Program : public contract_test {
 protected:
  /// The part of the test image that contains the code for the devices under test.
  static std::span<char const> code() {
    image const& test = test_image();
    return on_gpus() ? std::span{static_cast<char const*>(test.gpu), test.gpu_bytes}
                     : std::span{static_cast<char const*>(test.cpu), test.cpu_bytes};
  }
  /// Checks that loading `path` fails, that the error names the file, and that kernels still run.
  void expect_bad(std::filesystem::path const& path) {
    EXPECT_THAT(thrown<bad_image>([&] { (void)rt().load(path); }),
                HasSubstr(path.filename().string()));
    rt().submit(program().nothing.with_shape({1}, {1})(), {.device = last()}).wait();
  }
  void write_unsigned(device_ordinal device, char const* name, std::uint32_t value) {
    program().loaded.write_global(device, name, std::as_bytes(std::span{&value, 1}));
  }
  std::uint32_t read_unsigned(device_ordinal device, char const* name) {
    std::uint32_t value = 0;
    program().loaded.read_global(device, name, std::as_writable_bytes(std::span{&value, 1}));
    return value;
  }
};
FLOTILLA_CONTRACT(Program);

// requirement
TEST_P(Program, KernelNamesAreListed) {
  auto const names = program().loaded.kernel_names();
  EXPECT_THAT(names, ::testing::IsSupersetOf({"nothing", "write_value", "trap_now", "sum_4088"}));
}

// requirement
TEST_P(Program, UnknownKernelErrorListsTheKernels) {
  EXPECT_THAT(thrown<unknown_symbol>([&] { (void)program().loaded.kernel<>("no_such_kernel"); }),
              AllOf(HasSubstr("no_such_kernel"), HasSubstr("write_value")));
}

// requirement: each device has its own copy of the program's global variables
TEST_P(Program, EveryDeviceHasItsOwnGlobals) {
  auto const tally = program().loaded.kernel<std::uint32_t*>("tally_up");
  for (device_ordinal const device : ordinals()) {
    EXPECT_EQ(read_unsigned(device, "tally"), 0u) << "device " << device.value;
    EXPECT_EQ(read_unsigned(device, "factor"), 3u);
    write_unsigned(device, "tally", 100 * (device.value + 1));
    write_unsigned(device, "factor", device.value + 1);
  }
  for (device_ordinal const device : ordinals()) {
    device_word out{rt(), device};
    std::uint32_t const expected = 100 * (device.value + 1) + device.value + 1;
    EXPECT_EQ(out.read({rt().submit(tally.with_shape({1}, {1})(out.buffer()))}), expected);
    EXPECT_EQ(read_unsigned(device, "tally"), expected);
  }
}

// requirement
TEST_P(Program, UnknownOrMisfitGlobalIsRefused) {
  std::array<std::byte, 4> four{};
  std::array<std::byte, 5> five{};
  auto const& loaded = program().loaded;
  EXPECT_THAT(thrown<unknown_symbol>([&] { loaded.write_global(first(), "no_such_global", four); }),
              HasSubstr("no_such_global"));
  EXPECT_THAT(thrown<unknown_symbol>([&] { loaded.read_global(first(), "no_such_global", four); }),
              HasSubstr("no_such_global"));
  EXPECT_THAT(thrown<invalid_argument>([&] { loaded.write_global(first(), "tally", five); }),
              HasSubstr("tally"));
  EXPECT_THAT(thrown<invalid_argument>([&] { loaded.read_global(first(), "tally", five); }),
              HasSubstr("tally"));
  EXPECT_THROW(loaded.read_global(device_ordinal{99}, "tally", four), unknown_device);
}

// requirement
TEST_P(Program, FileLoadsLikeABuiltInImage) {
  temporary_file const file{"good.image", code()};
  auto const write = rt().load(file.path()).kernel<std::uint32_t*, std::uint32_t>("write_value");
  for (device_ordinal const device : ordinals()) {
    device_word value{rt(), device};
    EXPECT_EQ(value.read({rt().submit(write.with_shape({1}, {1})(value.buffer(), 12u))}), 12u);
  }
}

// requirement: an image that is loaded twice has two separate sets of global variables
TEST_P(Program, ImageLoadedTwiceHasTwoSetsOfGlobals) {
  class program const again = rt().load(test_image());
  write_unsigned(last(), "tally", 50);
  std::uint32_t other = 1;
  again.read_global(last(), "tally", std::as_writable_bytes(std::span{&other, 1}));
  EXPECT_EQ(other, 0u);
}

// requirement
TEST_P(Program, MissingOrEmptyFileIsRefusedByName) {
  expect_bad("/no/such/folder/missing.image");
  expect_bad(std::filesystem::temp_directory_path());
  temporary_file const empty{"empty.image", {}};
  expect_bad(empty.path());
}

// requirement
TEST_P(Program, CorruptFileIsRefusedByName) {
  std::string const words =
      "this text is not code for any device, although it is longer than a header\n";
  temporary_file const text{"text.image", words};
  expect_bad(text.path());
  temporary_file const cut{"cut.image", code().first(code().size() / 3)};
  expect_bad(cut.path());
  temporary_file const shorter{"header.image", code().first(20)};
  expect_bad(shorter.path());
}

// regression: the error was only CUDA_ERROR_INVALID_IMAGE
TEST_P(Program, FileForOtherDevicesIsRefusedWithTheReason) {
  auto const error_of = [this](char const* name, std::span<char const> bytes) {
    temporary_file const file{name, bytes};
    return thrown<bad_image>([&] { (void)rt().load(file.path()); });
  };
  if (on_gpus()) {
    EXPECT_THAT(
        error_of("cpu.so", {static_cast<char const*>(test_image().cpu), test_image().cpu_bytes}),
        HasSubstr("the file has code for CPUs only"));
    return;
  }
  std::string const reason = "the file has code for GPUs only";
  std::string const fatbin{"\x50\xed\x55\xba\x01\0\x10\0", 8};
  EXPECT_THAT(error_of("app.fatbin", fatbin), HasSubstr(reason));
  std::string const ptx =
      "//\n// Generated by NVIDIA NVVM Compiler\n\n.version 9.0\n.target sm_80\n";
  EXPECT_THAT(error_of("app.ptx", ptx), HasSubstr(reason));
  std::string cubin(64, '\0');
  cubin.replace(0, 4, "\177ELF");
  cubin[18] = static_cast<char>(190);  // EM_CUDA
  EXPECT_THAT(error_of("app.cubin", cubin), HasSubstr(reason));
}

// error guess: a shared object without a kernel image must be refused
TEST_P(Program, SharedObjectWithoutAnImageIsRefused) {
  FLOTILLA_NEED_CPU_DRIVER();
  std::vector<char> renamed(code().begin(), code().end());
  // Rename every symbol that marks the object as an image.
  std::string const marker = "flotilla_cpu_image";
  int found = 0;
  for (auto at = std::search(renamed.begin(), renamed.end(), marker.begin(), marker.end());
       at != renamed.end(); at = std::search(at, renamed.end(), marker.begin(), marker.end())) {
    *at = 'x';
    ++found;
  }
  ASSERT_GT(found, 0);
  temporary_file const file{"renamed.image", renamed};
  expect_bad(file.path());
}

// requirement
TEST_P(Program, ImageWithoutCodeForTheDevicesIsRefusedByName) {
  EXPECT_THAT(thrown<bad_image>([&] { (void)rt().load(image{.name = "an empty image"}); }),
              HasSubstr("an empty image"));
  char const junk[64] = "junk";
  image const bad{.name = "junk image",
                  .gpu = junk,
                  .gpu_bytes = sizeof junk,
                  .cpu = junk,
                  .cpu_bytes = sizeof junk};
  EXPECT_THAT(thrown<bad_image>([&] { (void)rt().load(bad); }), HasSubstr("junk image"));
  rt().submit(program().nothing.with_shape({1}, {1})()).wait();
}

// requirement: a program can be loaded while a kernel runs on a device
TEST_P(Program, ProgramLoadsWhileADeviceIsBusy) {
  FLOTILLA_NEED_CPU_DRIVER();  // a GPU driver may wait for running kernels before it loads code
  held_word word{rt()};
  ticket const held = rt().submit(word.launch_of(program()), {.device = first()});
  ASSERT_TRUE(pumping(rt(), [&] { return word.started(); }));
  class program const again = rt().load(test_image());
  EXPECT_FALSE(held.ready());
  word.release();
  rt().submit(again.kernel<>("nothing").with_shape({1}, {1})(), {.device = first()}).wait();
}

// regression: a library that the driver refused to unload stayed without a word
TEST(ProgramEnd, ARefusalToUnloadIsReported) {
  FLOTILLA_NEED_CPU_DRIVER();
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::testing::internal::CaptureStderr();
    {
      runtime rt{{.devices = device_spec(1), .workers = 0}};
      static_cast<void>(rt.load(test_image()));
      testing::fail_call("cuLibraryUnload", 1, driver_status::out_of_memory);
    }
    EXPECT_THAT(
        ::testing::internal::GetCapturedStderr(),
        HasSubstr("cuLibraryUnload failed on image '" + std::string{test_image().name} + "'"));
  });
}

}  // namespace
}  // namespace flotilla::test
