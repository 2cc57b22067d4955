#pragma once
// The control: the driver without flotilla, through the same table. Producers launch the empty
// kernel into streams of their own; the context is theirs while they do.

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include <flotilla/settings.hpp>

#include "context/floating_context.hpp"
#include "crew.hpp"
#include "rig.hpp"

namespace flotilla::bench {

class plain_driver final : public rig {
 public:
  struct shape {
    int devices = 1;
    int producers = 1;
    flotilla::schedule schedule = flotilla::schedule::automatic;
    bool operator==(shape const&) const = default;
  };
  explicit plain_driver(shape const& wanted);
  ~plain_driver() override;

  /// A stream of one producer on one device.
  struct post {
    CUcontext context = nullptr;
    CUfunction null = nullptr;
    CUfunction spin = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
  };
  /// Those of `producer`: with no fewer producers than devices one post each, evenly spread; else
  /// several each, so that every device is served.
  [[nodiscard]] std::vector<post> const& posts(int producer) const {
    return posts_[static_cast<std::size_t>(producer)];
  }

  void push(post const& where) const;
  void pop() const;
  void launch(post const& where) const;  // the context must be current
  /// Keeps `blocks` of `threads` threads busy for so long each; likewise.
  void spin(post const& where, unsigned blocks, unsigned threads,
            unsigned long long nanoseconds) const;
  void record(post const& where) const;  // likewise
  void synchronize(post const& where) const;

  /// Launches `tasks` kernels on the producer's posts, as a loop written by hand would. Does not
  /// wait.
  void launch_all(int producer, std::int64_t tasks) const;
  /// Waits until all of the producer's posts are idle.
  void synchronize_all(int producer) const;

  [[nodiscard]] driver::table const& api() const noexcept { return *api_; }

  shape const made_as;

 private:
  void make_posts();

  std::shared_ptr<driver::table const> api_;
  std::vector<std::unique_ptr<context::floating_context>> contexts_;
  CUlibrary library_ = nullptr;
  std::vector<std::vector<post>> posts_;

 public:
  crew producers;  // last: its threads use the above
};

}  // namespace flotilla::bench
