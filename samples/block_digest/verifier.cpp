// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "verifier.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace block_digest {

namespace {

// Computes SHA-256 digests with libcrypto. The constructor looks up the algorithm once.
class host_sha256 {
 public:
  host_sha256() : method_{EVP_MD_fetch(nullptr, "SHA256", nullptr)}, state_{EVP_MD_CTX_new()} {
    if (!method_ || !state_) { throw std::runtime_error{"libcrypto has no SHA-256"}; }
  }

  [[nodiscard]] digest compute(std::span<std::byte const> bytes) {
    digest value{};
    if (EVP_DigestInit_ex2(state_.get(), method_.get(), nullptr) != 1 ||
        EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) != 1 ||
        EVP_DigestFinal_ex(state_.get(), value.bytes.data(), nullptr) != 1) {
      throw std::runtime_error{"libcrypto failed to compute a SHA-256 digest"};
    }
    return value;
  }

 private:
  struct release {
    void operator()(EVP_MD* method) const { EVP_MD_free(method); }
    void operator()(EVP_MD_CTX* state) const { EVP_MD_CTX_free(state); }
  };
  std::unique_ptr<EVP_MD, release> method_;
  std::unique_ptr<EVP_MD_CTX, release> state_;
};

void verify(block_batch& batch, host_sha256& sha256) {
  std::size_t const block_bytes = batch.capacity.block_bytes;
  for (block_range const& range : batch.ranges) {
    for (std::size_t i = 0; i < range.blocks; ++i) {
      std::size_t const begin = i * block_bytes;
      std::size_t const length = std::min(block_bytes, range.bytes - begin);
      std::span const block = batch.contents.span().subspan(range.batch_offset + begin, length);
      std::size_t const index = range.first_block + i;
      if (sha256.compute(block) != batch.digests[index]) { batch.mismatches.push_back(index); }
    }
  }
}

}  // namespace

verifier::verifier(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

verifier::~verifier() {
  {
    std::lock_guard const lock{mutex_};
    stop_ = true;
  }
  added_.notify_all();
}

void verifier::add(block_batch& batch) {
  {
    std::lock_guard const lock{mutex_};
    to_verify_.push_back(&batch);
  }
  added_.notify_one();
}

block_batch* verifier::take_verified() {
  std::lock_guard const lock{mutex_};
  if (ready_.empty()) { return nullptr; }
  block_batch* const batch = ready_.front();
  ready_.pop_front();
  return batch;
}

void verifier::wait() {
  std::unique_lock lock{mutex_};
  verified_.wait(lock, [this] { return !ready_.empty(); });
}

void verifier::work() {
  host_sha256 sha256;
  std::unique_lock lock{mutex_};
  for (;;) {
    added_.wait(lock, [this] { return stop_ || !to_verify_.empty(); });
    if (stop_) { return; }
    block_batch* const batch = to_verify_.front();
    to_verify_.pop_front();
    lock.unlock();
    if (batch->error.empty()) {
      try {
        verify(*batch, sha256);
      } catch (std::exception const& error) { batch->error = error.what(); }
    }
    lock.lock();
    ready_.push_back(batch);
    verified_.notify_one();
  }
}

}  // namespace block_digest
