// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "stress/isolated_faults/digesting.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>

#include "support/devices.hpp"

namespace flotilla::test {

namespace {

constexpr std::size_t digest_bytes = 32;
constexpr std::size_t block_bytes = 4096;

constexpr std::size_t blocks_of(std::size_t bytes) {
  return (bytes + block_bytes - 1) / block_bytes;
}
/// A GPU digests a file of 4 MiB in the time in which a CPU device digests one of 64 KiB.
std::size_t max_file_bytes() { return std::size_t{on_gpus() ? 4096u : 64u} << 10; }

}  // namespace

digesting::digesting(runtime& rt, device_ordinal device, digest_kernel digest_blocks)
    : rt_(rt),
      device_(device),
      digest_blocks_(std::move(digest_blocks)),
      folder_(std::filesystem::temp_directory_path() / "flotilla-digests-XXXXXX"),
      contents_{rt, max_file_bytes()},
      found_{rt, blocks_of(max_file_bytes()) * digest_bytes},
      device_contents_{rt, device, contents_.size()},
      device_found_{rt, device, found_.size()} {
  make_files();
  thread_ = std::thread{[this] { run(); }};
}

digesting::~digesting() {
  over_ = true;
  thread_.join();
  std::filesystem::remove_all(folder_);
}

double digesting::rate() {
  auto const now = std::chrono::steady_clock::now();
  std::uint64_t const done = done_.load();
  double const found =
      static_cast<double>(done - last_done_) / std::chrono::duration<double>(now - last_).count();
  last_ = now;
  last_done_ = done;
  return found;
}

void digesting::make_files() {
  std::string name = folder_.string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr) << "no folder " << name;
  folder_ = name;
  std::mt19937_64 random{7};
  // The last blocks of the files are not full.
  for (std::size_t const bytes :
       {max_file_bytes(), max_file_bytes() / 2 + 1234, max_file_bytes() - 1, block_bytes / 2 + 1}) {
    file made{folder_ / std::to_string(files_.size()), bytes, {}};
    std::vector<char> contents(bytes);
    for (char& each : contents) { each = static_cast<char>(random()); }
    std::ofstream{made.path, std::ios::binary}.write(contents.data(),
                                                     static_cast<std::streamsize>(bytes));
    made.digests.resize(blocks_of(bytes) * digest_bytes);
    for (std::size_t i = 0; i < blocks_of(bytes); ++i) {
      std::size_t const start = i * block_bytes;
      auto* const to = reinterpret_cast<unsigned char*>(&made.digests[i * digest_bytes]);
      ASSERT_EQ(::EVP_Digest(&contents[start], std::min(block_bytes, bytes - start), to, nullptr,
                             ::EVP_sha256(), nullptr),
                1);
    }
    files_.push_back(std::move(made));
  }
}

void digesting::run() {
  for (std::size_t i = 0; !over_; i = (i + 1) % files_.size()) {
    if (!digest(files_[i])) { return; }
    done_ += files_[i].bytes;
  }
}

bool digesting::digest(file const& each) {
  std::ifstream source{each.path, std::ios::binary};
  source.read(reinterpret_cast<char*>(contents_.data()),
              static_cast<std::streamsize>(contents_.size()));
  std::size_t const blocks = blocks_of(each.bytes);
  std::fill(found_.begin(), found_.end(), std::byte{});
  try {
    ticket const up = rt_.submit(device_contents_.copy_from(contents_));
    ticket const digested =
        rt_.submit(digest_blocks_.over(blocks, 32)(device_contents_.data(), each.bytes, block_bytes,
                                                   blocks, device_found_.data()),
                   {.device = device_, .after = {up}});
    rt_.submit(device_found_.copy_to(found_), {.after = {digested}}).wait();
  } catch (std::exception const& why) {
    ADD_FAILURE() << each.path << ": " << why.what();
    return false;
  }
  if (std::equal(each.digests.begin(), each.digests.end(), found_.begin())) { return true; }
  ADD_FAILURE() << each.path << " has wrong digests";
  return false;
}

}  // namespace flotilla::test
