#include "verifier.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace block_digest {

namespace {

// libcrypto's SHA-256, looked up once for many digests.
class host_sha256 {
 public:
  host_sha256() : method_{EVP_MD_fetch(nullptr, "SHA256", nullptr)}, state_{EVP_MD_CTX_new()} {
    if (!method_ || !state_) { throw std::runtime_error{"libcrypto has no SHA-256"}; }
  }

  [[nodiscard]] digest of(std::span<std::byte const> bytes) {
    digest value{};
    if (EVP_DigestInit_ex2(state_.get(), method_.get(), nullptr) != 1 ||
        EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) != 1 ||
        EVP_DigestFinal_ex(state_.get(), value.bytes.data(), nullptr) != 1) {
      throw std::runtime_error{"libcrypto could not make a SHA-256"};
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

void check(tray& returned, host_sha256& sha256) {
  std::size_t const block_bytes = returned.shape.block_bytes;
  for (run const& each : returned.runs) {
    for (std::size_t i = 0; i < each.blocks; ++i) {
      std::size_t const begin = i * block_bytes;
      std::size_t const length = std::min(block_bytes, each.bytes - begin);
      std::span const block = returned.contents.span().subspan(each.at + begin, length);
      std::size_t const index = each.first_block + i;
      if (sha256.of(block) != returned.digests[index]) { returned.wrong.push_back(index); }
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
  given_.notify_all();
}

void verifier::give(tray& returned) {
  {
    std::lock_guard const lock{mutex_};
    to_check_.push_back(&returned);
  }
  given_.notify_one();
}

tray* verifier::take() {
  std::lock_guard const lock{mutex_};
  if (ready_.empty()) { return nullptr; }
  tray* const taken = ready_.front();
  ready_.pop_front();
  return taken;
}

void verifier::wait() {
  std::unique_lock lock{mutex_};
  checked_.wait(lock, [this] { return !ready_.empty(); });
}

void verifier::work() {
  host_sha256 sha256;
  std::unique_lock lock{mutex_};
  for (;;) {
    given_.wait(lock, [this] { return stop_ || !to_check_.empty(); });
    if (stop_) { return; }
    tray* const next = to_check_.front();
    to_check_.pop_front();
    lock.unlock();
    if (next->error.empty()) {
      try {
        check(*next, sha256);
      } catch (std::exception const& error) { next->error = error.what(); }
    }
    lock.lock();
    ready_.push_back(next);
    checked_.notify_one();
  }
}

}  // namespace block_digest
