// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A square matrix on several GPUs, in the layout of cusolverMg.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "primary_contexts.hpp"
#include "random_entry.hpp"

namespace cholesky {

/// Blocks of columns, dealt to the GPUs in turn: block b is on GPU b % GPUs. The blocks of a GPU
/// are one behind the other. The last block has the memory of a whole one.
template <class T>
class mg_matrix {
 public:
  mg_matrix(primary_contexts const& on, std::size_t size, std::size_t block)
      : on_(on),
        size_(size),
        block_(block),
        blocks_((size + block - 1) / block),
        blocks_on_each_((blocks_ + on.size() - 1) / on.size()),
        memory_(on, blocks_on_each_ * block_bytes()) {}

  /// Returns the address of the first block on each GPU.
  [[nodiscard]] void** columns() { return memory_.addresses(); }

  /// Fills the lower triangle with the random matrix.
  void fill() {
    std::vector<T> columns(size_ * block_);
    for (std::size_t b = 0; b < blocks_; ++b) {
      std::size_t const first = b * block_;
      std::size_t const width = std::min(block_, size_ - first);
      for (std::size_t c = 0; c < width; ++c) {
        T* const column = columns.data() + c * size_;
        std::fill_n(column, first + c, T{0});
        for (std::size_t r = first + c; r < size_; ++r) {
          column[r] = static_cast<T>(random_entry(r, first + c, size_));
        }
      }
      on_.use(b % on_.size());
      check(driver().copy_to_device(memory_.at(b % on_.size()) + b / on_.size() * block_bytes(),
                                    columns.data(), width * size_ * sizeof(T)),
            "cuMemcpyHtoD");
    }
  }

  /// Copies a row to the host.
  [[nodiscard]] std::vector<T> row(std::size_t index) const {
    std::vector<T> whole(on_.size() * blocks_on_each_ * block_);
    std::vector<T> local(blocks_on_each_ * block_);
    for (std::size_t gpu = 0; gpu < on_.size(); ++gpu) {
      copy_row(index, gpu, local);
      for (std::size_t b = 0; b < blocks_on_each_; ++b) {
        std::copy_n(local.begin() + static_cast<std::ptrdiff_t>(b * block_), block_,
                    whole.begin() + static_cast<std::ptrdiff_t>((b * on_.size() + gpu) * block_));
      }
    }
    whole.resize(size_);
    return whole;
  }

 private:
  [[nodiscard]] std::size_t block_bytes() const { return size_ * block_ * sizeof(T); }
  void copy_row(std::size_t index, std::size_t gpu, std::vector<T>& to) const {
    CUDA_MEMCPY2D entries{};
    entries.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    entries.srcDevice = memory_.at(gpu) + index * sizeof(T);
    entries.srcPitch = size_ * sizeof(T);
    entries.dstMemoryType = CU_MEMORYTYPE_HOST;
    entries.dstHost = to.data();
    entries.dstPitch = sizeof(T);
    entries.WidthInBytes = sizeof(T);
    entries.Height = to.size();
    on_.use(gpu);
    check(driver().copy_rectangle(&entries), "cuMemcpy2D");
  }

  primary_contexts const& on_;
  std::size_t size_;
  std::size_t block_;
  std::size_t blocks_;
  std::size_t blocks_on_each_;
  memory_on_each memory_;
};

}  // namespace cholesky
