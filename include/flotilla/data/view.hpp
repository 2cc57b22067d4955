// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A view of an array of one to three dimensions. Kernels and host tasks get views of logical data.

#include <cstddef>

#if defined(__CUDACC__)
#define FLOTILLA_HOST_DEVICE __host__ __device__
#else
#define FLOTILLA_HOST_DEVICE
#endif

namespace flotilla {
inline namespace v0_1 {

/// Refers to `extents[0]` x … x `extents[Rank - 1]` objects. The last index is the one whose
/// neighbours are adjacent in memory (row-major order). A view can be a parameter of a kernel.
///
/// Threads: same rules as for a pointer. A view does not own its objects.
template <class T, int Rank = 1>
struct view {
  static_assert(Rank >= 1 && Rank <= 3, "a view has one to three dimensions");
  using element_type = T;
  static constexpr int rank = Rank;

  T* data;                                 ///< the first object
  std::size_t pitch;                       ///< the distance between neighbouring rows, in objects
  std::size_t extents[std::size_t{Rank}];  ///< the number of objects in each dimension

  /// Returns the object with these indices, one for each dimension. Does not check them.
  template <class... Index>
  FLOTILLA_HOST_DEVICE T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "a view needs one index for each dimension");
    return data[offset(static_cast<std::size_t>(index)...)];
  }
  /// Returns the number of objects.
  FLOTILLA_HOST_DEVICE std::size_t size() const {
    return Rank == 1 ? extents[0] : extents[0] * extents[Rank - 1];
  }

 private:
  FLOTILLA_HOST_DEVICE std::size_t offset(std::size_t i) const { return i; }
  FLOTILLA_HOST_DEVICE std::size_t offset(std::size_t i, std::size_t j) const {
    return i * pitch + j;
  }
};

/// A view of three dimensions has a pitch for its planes too.
template <class T>
struct view<T, 3> {
  using element_type = T;
  static constexpr int rank = 3;

  T* data;                  ///< the first object
  std::size_t pitch;        ///< the distance between neighbouring rows, in objects
  std::size_t extents[3];   ///< the number of objects in each dimension
  std::size_t plane_pitch;  ///< the distance between neighbouring planes, in objects

  /// Returns the object with these indices. Does not check them.
  template <class... Index>
  FLOTILLA_HOST_DEVICE T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == 3, "a view needs one index for each dimension");
    return data[offset(static_cast<std::size_t>(index)...)];
  }
  /// Returns the number of objects.
  FLOTILLA_HOST_DEVICE std::size_t size() const { return extents[0] * extents[1] * extents[2]; }

 private:
  FLOTILLA_HOST_DEVICE std::size_t offset(std::size_t i, std::size_t j, std::size_t k) const {
    return i * plane_pitch + j * pitch + k;
  }
};

}  // namespace v0_1
}  // namespace flotilla
