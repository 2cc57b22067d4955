// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "host_sha256.hpp"

#include <stdexcept>

namespace block_digest {

host_sha256::host_sha256()
    : method_{EVP_MD_fetch(nullptr, "SHA256", nullptr)}, state_{EVP_MD_CTX_new()} {
  if (!method_ || !state_) { throw std::runtime_error{"libcrypto has no SHA-256"}; }
}

digest host_sha256::compute(std::span<std::byte const> bytes) {
  digest value{};
  if (EVP_DigestInit_ex2(state_.get(), method_.get(), nullptr) != 1 ||
      EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()) != 1 ||
      EVP_DigestFinal_ex(state_.get(), value.bytes.data(), nullptr) != 1) {
    throw std::runtime_error{"libcrypto failed to compute a SHA-256 digest"};
  }
  return value;
}

}  // namespace block_digest
