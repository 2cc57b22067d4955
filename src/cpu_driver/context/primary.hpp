// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device's primary context. The first call of retain() creates the context. When release() was
// called as often as retain(), the context is destroyed.

#include <cuda.h>

#include <mutex>

namespace flotilla::cpu_driver {

class device;

class primary {
 public:
  explicit primary(device& home) noexcept : home_(home) {}

  [[nodiscard]] CUresult retain(CUcontext& retained);
  [[nodiscard]] CUresult release();
  [[nodiscard]] CUresult set_flags(unsigned flags);
  [[nodiscard]] CUresult reset();
  void state(unsigned& flags, bool& active) const;

 private:
  void destroy();  // the caller must hold mutex_

  device& home_;
  std::mutex mutable mutex_;
  CUcontext handle_ = nullptr;  // guarded by mutex_; null while inactive
  unsigned flags_ = 0;          // guarded by mutex_
  int retained_ = 0;            // guarded by mutex_
};

}  // namespace flotilla::cpu_driver
