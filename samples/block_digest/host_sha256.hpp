// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// SHA-256 digests by libcrypto.

#include <cstddef>
#include <memory>
#include <span>

#include <openssl/evp.h>

#include "digest.hpp"

namespace block_digest {

/// The constructor looks up the algorithm once. Threads: same rules as for a std::vector.
class host_sha256 {
 public:
  /// @throws std::runtime_error  libcrypto has no SHA-256.
  host_sha256();
  /// @throws std::runtime_error  libcrypto failed.
  [[nodiscard]] digest compute(std::span<std::byte const> bytes);

 private:
  struct release {
    void operator()(EVP_MD* method) const { EVP_MD_free(method); }
    void operator()(EVP_MD_CTX* state) const { EVP_MD_CTX_free(state); }
  };
  std::unique_ptr<EVP_MD, release> method_;
  std::unique_ptr<EVP_MD_CTX, release> state_;
};

}  // namespace block_digest
