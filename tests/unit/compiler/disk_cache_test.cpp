// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "compiler/disk_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "unit/compiler/folder_fixture.hpp"

namespace flotilla::compiler {
namespace {

namespace fs = std::filesystem;

class DiskCache : public test::folder_fixture {
 protected:
  [[nodiscard]] compile_options options(std::size_t bytes = 1 << 20) const {
    compile_options made;
    made.cache_directory = folder() / "cache";
    made.cache_bytes = bytes;
    return made;
  }
  [[nodiscard]] fs::path entry(std::string const& key) const {
    return folder() / "cache" / (key + ".kernels");
  }
  static compiled_code code(std::string const& text) { return {text, {}, {}}; }
  static mode_t mode_of(fs::path const& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
  }
};

// requirement
TEST_F(DiskCache, FindsWhatWasStored) {
  disk_cache const cache{options()};
  ASSERT_TRUE(cache.is_usable()) << cache.why_not();
  EXPECT_EQ(cache.find("k"), std::nullopt);
  cache.store("k", code("one"));
  EXPECT_EQ(cache.find("k"), code("one"));
  EXPECT_EQ(cache.find("other"), std::nullopt);
  cache.store("k", code("two"));
  EXPECT_EQ(cache.find("k"), code("two"));
}

// requirement: nobody else may read or replace code that the user will run
TEST_F(DiskCache, FilesArePrivate) {
  ::umask(0);
  disk_cache const cache{options()};
  cache.store("k", code("one"));
  EXPECT_EQ(mode_of(folder() / "cache"), 0700u);
  EXPECT_EQ(mode_of(entry("k")), 0600u);
  ::umask(022);
}

// requirement: entries that others could have written are not trusted
TEST_F(DiskCache, EntriesThatOthersCanWriteAreRemoved) {
  disk_cache const cache{options()};
  cache.store("k", code("one"));
  fs::permissions(entry("k"), fs::perms{0666});
  EXPECT_EQ(cache.find("k"), std::nullopt);
  EXPECT_FALSE(fs::exists(entry("k")));
  EXPECT_TRUE(has_logged("not private"));
}

// requirement: neither a link nor a device nor a folder is an entry
TEST_F(DiskCache, OtherKindsOfFilesAreNoEntries) {
  disk_cache const cache{options()};
  cache.store("real", code("one"));
  fs::create_symlink(entry("real"), entry("link"));
  EXPECT_EQ(cache.find("link"), std::nullopt);
  ASSERT_EQ(::mkfifo(entry("fifo").c_str(), 0600), 0);
  EXPECT_EQ(cache.find("fifo"), std::nullopt);  // and does not wait for a writer
  fs::create_directory(entry("folder"));
  EXPECT_EQ(cache.find("folder"), std::nullopt);
}

// requirement
TEST_F(DiskCache, DamagedEntriesAreRemoved) {
  disk_cache const cache{options()};
  cache.store("k", code("one"));
  write("cache/k.kernels", "something else");
  fs::permissions(entry("k"), fs::perms{0600});
  EXPECT_EQ(cache.find("k"), std::nullopt);
  EXPECT_FALSE(fs::exists(entry("k")));
  EXPECT_TRUE(has_logged("damaged"));
}

// requirement
TEST_F(DiskCache, FoldersThatOthersCanUseAreRefused) {
  fs::create_directory(folder() / "cache");
  fs::permissions(folder() / "cache", fs::perms{0755});
  disk_cache const cache{options()};
  EXPECT_FALSE(cache.is_usable());
  EXPECT_NE(cache.why_not().find("mode 0700"), std::string::npos) << cache.why_not();
  cache.store("k", code("one"));
  EXPECT_EQ(cache.find("k"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(folder() / "cache"));
  EXPECT_TRUE(has_logged("warning: kernels are compiled without a cache"));
}

// requirement
TEST_F(DiskCache, LinksToFoldersAndFilesAreRefused) {
  fs::create_directory(folder() / "real");
  fs::permissions(folder() / "real", fs::perms{0700});
  fs::create_directory_symlink(folder() / "real", folder() / "cache");
  EXPECT_FALSE(disk_cache{options()}.is_usable());
  fs::remove(folder() / "cache");
  write("cache", "a file");
  EXPECT_FALSE(disk_cache{options()}.is_usable());
}

// regression: if the parent of the default folder cannot be made, the reason was "No such file or
// directory" instead of, for example, "Read-only file system"
TEST_F(DiskCache, TheReasonIsThatOfTheParent) {
  FLOTILLA_EXPECT_IN_CHILD([] {
    ::unsetenv("XDG_CACHE_HOME");
    ::setenv("HOME", "/sys", 1);  // a folder in which nobody can make one, also not root
    std::string const why = disk_cache{compile_options{}}.why_not();
    EXPECT_NE(why.find("cannot make the folder /sys/.cache: "), std::string::npos) << why;
    EXPECT_EQ(why.find("No such file"), std::string::npos) << why;
  });
}

// requirement: what `flotilla doctor` prints
TEST_F(DiskCache, EntriesAreCounted) {
  disk_cache const cache{options()};
  EXPECT_TRUE(cache.is_writable());
  EXPECT_EQ(cache.path(), (folder() / "cache").string());
  EXPECT_EQ(cache.count().entries, 0u);
  cache.store("k", code("one"));
  cache.store("l", code("two"));
  EXPECT_EQ(cache.count().entries, 2u);
  EXPECT_EQ(cache.count().bytes, fs::file_size(entry("k")) + fs::file_size(entry("l")));
}

// requirement: a folder that cannot be written is no error. Root can write everywhere, so this is a
// folder in which nobody can make a file.
TEST_F(DiskCache, AFolderThatCannotBeMadeIsNoError) {
  compile_options in_proc;
  in_proc.cache_directory = "/proc/flotilla";
  disk_cache const cache{in_proc};
  EXPECT_FALSE(cache.is_usable());
  cache.store("k", code("one"));
  EXPECT_EQ(cache.find("k"), std::nullopt);
}

// requirement
TEST_F(DiskCache, TheEntriesThatWereNotUsedForTheLongestTimeAreRemoved) {
  disk_cache const cache{options(3500)};
  std::string const kilobyte(1000, 'x');
  for (char const* key : {"a", "b", "c"}) {
    cache.store(key, code(kilobyte));
    std::this_thread::sleep_for(std::chrono::milliseconds{10});  // file systems have coarse clocks
  }
  EXPECT_NE(cache.find("a"), std::nullopt);  // so that "b" is the oldest
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  cache.store("d", code(kilobyte));
  EXPECT_NE(cache.find("a"), std::nullopt);
  EXPECT_EQ(cache.find("b"), std::nullopt);
  EXPECT_NE(cache.find("c"), std::nullopt);
  EXPECT_NE(cache.find("d"), std::nullopt);
}

// boundary
TEST_F(DiskCache, AnEntryLargerThanTheCacheIsNotStored) {
  disk_cache const cache{options(100)};
  cache.store("k", code(std::string(1000, 'x')));
  EXPECT_EQ(cache.find("k"), std::nullopt);
}

// requirement: temporary files of processes that were killed go away, but not those of others
TEST_F(DiskCache, OldTemporaryFilesAreRemoved) {
  disk_cache const cache{options(1100)};
  write("cache/old.part", "x");
  write("cache/new.part", "x");
  fs::last_write_time(folder() / "cache/old.part",
                      fs::file_time_type::clock::now() - std::chrono::hours{2});
  cache.store("k", code(std::string(1000, 'x')));
  EXPECT_FALSE(fs::exists(folder() / "cache/old.part"));
  EXPECT_TRUE(fs::exists(folder() / "cache/new.part"));
}

// stress: a reader sees a whole entry or none, while processes replace it
TEST_F(DiskCache, SeveralProcessesStoreAndFindAtTheSameTime) {
  auto const work = [&](char mark) {
    return [this, mark] {
      disk_cache const cache{options()};
      std::string const mine(20000, mark);
      for (int i = 0; i < 200; ++i) {
        cache.store("k", code(mine));
        auto const found = cache.find("k");
        // The log handler of the parent would note a damaged entry; here the result does.
        if (!found || found->bytes.size() != mine.size() ||
            found->bytes.find_first_not_of(found->bytes[0]) != std::string::npos) {
          return 1;
        }
      }
      return 0;
    };
  };
  std::vector<pid_t> children;
  for (char const mark : {'a', 'b', 'c', 'd'}) {
    children.push_back(test::start_forked(work(mark)));
  }
  for (pid_t const each : children) { EXPECT_EQ(test::result_of(each), 0); }
}

}  // namespace
}  // namespace flotilla::compiler
