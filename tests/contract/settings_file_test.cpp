// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// Settings from a TOML file and from environment variables: parsing, errors, and precedence.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <flotilla/flotilla.hpp>

#include "support/child.hpp"
#include "support/devices.hpp"
#include "support/guest_test.hpp"
#include "support/thrown.hpp"

namespace flotilla::test {
namespace {

namespace fs = std::filesystem;

/// A file in the temporary directory. The destructor deletes the file.
class text_file {
 public:
  explicit text_file(std::string const& text)
      : path_{fs::temp_directory_path() /
              ("flotilla_settings_" + std::to_string(::getpid()) + ".toml")} {
    std::ofstream{path_} << text;
  }
  ~text_file() { fs::remove(path_); }
  text_file(text_file const&) = delete;
  text_file& operator=(text_file const&) = delete;
  [[nodiscard]] fs::path const& path() const { return path_; }

 private:
  fs::path path_;
};

settings read(std::string const& text) { return settings::read(text_file{text}.path()); }

class SettingsFile : public guest_test {};

// requirement
TEST_F(SettingsFile, FileSetsEverySettingByName) {
  settings const from_file = read(R"(
    schedule = "blocking"   # a comment
    map_host = true
    lmem_resize_to_max = false
    cache = "l1"
    bank_size = 8
    context = "green:16"
    lanes = 4
    window = 1024
    [limits]
    stack = "64KiB"
    printf_fifo = 1048576
    malloc_heap = "16MiB"
    sync_depth = 2
    pending_launches = 4096
    l2_fetch_granularity = 32
    persisting_l2 = "3MiB"
    [devices.1]
    schedule = "spin"
    limits.stack = 2048
  )");
  EXPECT_EQ(from_file.all.schedule, wait_policy::blocking);
  EXPECT_EQ(from_file.all.map_host, true);
  EXPECT_EQ(from_file.all.lmem_resize_to_max, false);
  EXPECT_EQ(from_file.all.cache, cache_preference::l1);
  EXPECT_EQ(from_file.all.bank_size, bank_size::eight);
  EXPECT_EQ(from_file.all.context, context_source::green(16));
  EXPECT_EQ(from_file.all.lanes, 4u);
  EXPECT_EQ(from_file.all.window, 1024u);
  EXPECT_EQ(from_file.all.stack_bytes, 65536u);
  EXPECT_EQ(from_file.all.printf_fifo_bytes, 1u << 20);
  EXPECT_EQ(from_file.all.malloc_heap_bytes, 16u << 20);
  EXPECT_EQ(from_file.all.sync_depth, 2u);
  EXPECT_EQ(from_file.all.pending_launches, 4096u);
  EXPECT_EQ(from_file.all.l2_fetch_granularity, 32u);
  EXPECT_EQ(from_file.all.persisting_l2_bytes, 3u << 20);
  EXPECT_EQ(from_file.of(1).schedule, wait_policy::spin);
  EXPECT_EQ(from_file.of(1).stack_bytes, 2048u);
  EXPECT_EQ(from_file.of(1).cache, cache_preference::l1) << "the file sets it for all devices";
  EXPECT_EQ(from_file.of(0).stack_bytes, 65536u);
}

// requirement: every error names the file, the line and the invalid key or value
TEST_F(SettingsFile, ErrorsNameFileLineAndKey) {
  auto const refused = [](std::string const& text, char const* line, char const* offender) {
    EXPECT_THAT(thrown<unknown_setting>([&] { (void)read(text); }),
                AllOf(HasSubstr("flotilla_settings_"), HasSubstr("line " + std::string{line} + ":"),
                      HasSubstr(offender)))
        << text;
  };
  refused("schedule = 'spin'\nshedule = 'spin'", "2", "'shedule'");
  refused("\n[limits]\nstak = 1", "3", "'limits.stak'");
  refused("[limits]\nstack = '1parsec'", "2", "1parsec");
  refused("[limits]\nstack = -5", "2", "-5");
  refused("schedule = 1.5", "1", "'schedule'");
  refused("schedule = 'fast'", "1", "fast");
  refused("cache = ['l1']", "1", "'cache'");
  refused("map_host = 'maybe'", "1", "maybe");
  refused("bank_size = 16", "1", "16");
  refused("context = 'adopted'", "1", "handle");
  refused("context = 'green:0'", "1", "green:0");
  refused("context = 'green:x'", "1", "green:x");
  refused("lanes = '4KiB'", "1", "4KiB");
  refused("[devices]\nx.schedule = 'spin'", "2", "'x'");
  refused("[devices]\n1 = 'spin'", "2", "devices.1");
  refused("devices = 2", "1", "devices");
  refused("[devices.0]\nscedule = 'spin'", "2", "'scedule'");
  refused("schedule = 'spin'\nschedule = 'yield'", "2",
          "schedule");  // the TOML parser refuses a second value of a key
  refused("schedule = \n", "1", "");
  // regression: toml++ aborted the process if it was compiled with assertions
  refused("schedule = 'spin'\n[" + std::string(2, '\0') + "1]\n", "2", "code 0");
  refused("schedule = 'spin\x7f'", "1", "code 127");
}

// requirement
TEST_F(SettingsFile, UnreadableFileIsRefusedByName) {
  EXPECT_THAT(thrown<unknown_setting>([] { (void)settings::read("/no/such/file.toml"); }),
              HasSubstr("/no/such/file.toml"));
  EXPECT_THAT(thrown<unknown_setting>([] { (void)settings::read("/"); }), HasSubstr("directory"));
  EXPECT_EQ(read("").all, device_settings{}) << "an empty file must set nothing";
}

// requirement: a setting in code overrides the environment, and the environment overrides the file.
// This holds separately for each device and each setting
TEST_F(SettingsFile, CodeOverridesEnvironmentOverridesFile) {
  FLOTILLA_NEED_DEVICES(2);
  FLOTILLA_EXPECT_IN_CHILD([] {
    text_file const file{
        "schedule='yield'\ncache='l1'\nlimits.stack=8192\n[devices.1]\ncache='equal'\n"};
    setenv("FLOTILLA_CONFIG", file.path().c_str(), 1);
    setenv("FLOTILLA_SETTINGS", "schedule=blocking,1:limits.stack=4096", 1);
    runtime_options options{.devices = device_spec(2), .workers = 0};
    options.settings.set("0:schedule", "spin");
    runtime const rt{options};
    device_settings const zero = rt.effective_settings(device_ordinal{0});
    device_settings const one = rt.effective_settings(device_ordinal{1});
    EXPECT_EQ(zero.schedule, wait_policy::spin);
    EXPECT_EQ(one.schedule, wait_policy::blocking);
    EXPECT_EQ(zero.cache, cache_preference::l1);
    EXPECT_EQ(one.cache, cache_preference::equal);
    EXPECT_EQ(zero.stack_bytes, 8192u);
    EXPECT_EQ(one.stack_bytes, 4096u);
  });
}

// requirement: if the file or the environment variable is invalid, no runtime is created, and the
// error names the file or the variable
TEST_F(SettingsFile, WrongFileOrEnvironmentStopsTheRuntime) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    auto const start = [] { runtime const rt{{.devices = device_spec(1)}}; };
    setenv("FLOTILLA_CONFIG", "/no/such/file.toml", 1);
    EXPECT_THAT(thrown<unknown_setting>(start), HasSubstr("/no/such/file.toml"));
    text_file const file{"\nspeed = 11"};
    setenv("FLOTILLA_CONFIG", file.path().c_str(), 1);
    EXPECT_THAT(thrown<unknown_setting>(start), AllOf(HasSubstr("line 2"), HasSubstr("'speed'")));
    unsetenv("FLOTILLA_CONFIG");
    setenv("FLOTILLA_SETTINGS", "speed=11", 1);
    EXPECT_THAT(thrown<unknown_setting>(start),
                AllOf(HasSubstr("FLOTILLA_SETTINGS"), HasSubstr("'speed'")));
  });
}

}  // namespace
}  // namespace flotilla::test
