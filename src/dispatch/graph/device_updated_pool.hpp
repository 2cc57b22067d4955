#pragma once
// The templates of one device that the device updates itself.

#include <cuda.h>

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "context/floating_context.hpp"
#include "dispatch/graph_memory.hpp"
#include "dispatch/graph_template.hpp"

namespace flotilla::dispatch {

/// What they are made for: all of a launch that the device cannot change.
struct launch_form {
  graph_template::shape shape;
  std::uint32_t kernel;
  std::array<std::uint16_t, 3> block;
  std::uint32_t shared_bytes;
  auto operator<=>(launch_form const&) const = default;
};

/// To make one takes the host as long as to rewrite one of its size some 30 times, so that is the price of the first: it is made when
/// so many batches of a form were rewritten for want of one, and the second when half as many were, and so on, for a form
/// that wanted several wants more. So they cost not much more than rewriting does, whatever the program is like, and a
/// program that goes on gets what it can use soon. Those of one device are bounded, by what was
/// reserved for them (graph_memory): where another form needs one, and the device has nothing to do, the form that was not
/// used for longest gives one up.
///
/// Only the holder of the device's lease, with the context current. Steady state: nothing is allocated.
class updated_templates {
 public:
  static constexpr std::uint32_t price = 32;             // batches that are rewritten
  static constexpr std::uint32_t most_chains = reserved_chains / 2;  // in all of a device; the rest is for those that are rewritten
  static constexpr std::size_t most_forms = 1024;        // what is beyond is rewritten
  static constexpr std::uint32_t most_refusals = 8;      // of launches of one form
  static constexpr std::uint32_t fewest_nodes = 16;      // below, a batch of short kernels is seen sooner where it is rewritten,
  static constexpr std::uint32_t fewest_lasting = 4;     // and one of long ones below that

  updated_templates(context::floating_context const& context, mapped_slabs& memory) noexcept
      : context_(context), memory_(memory) {}
  /// From now on, with this kernel (own_functions::updater); null: there are none, and nobody asks for any.
  void use(CUfunction updater) noexcept;
  [[nodiscard]] bool usable() const noexcept { return updater_ != nullptr; }

  /// One for launches of that form, which are about to be filled in; null: none is free, and none is to be made now.
  /// @param first   What each node is to hold, if `whole`; else only the first node's is there.
  /// @param stream  Where it will be launched.
  /// @param whole   Whether every node is to run. Only for such a batch one is made: nodes cannot be instantiated disabled, and
  ///                nothing is to hang on what a first launch disables (docs/results/h200x4-first-launch.txt).
  /// @param idle    Whether nothing is in flight: to destroy a graph waits for all that is.
  [[nodiscard]] graph_template* take(launch_form const& form, graph_template::filling const& first,
                                     std::uint32_t argument_bytes, CUdeviceptr counter, CUfunction marker,
                                     CUstream stream, bool whole, bool idle) noexcept;
  /// The driver did not launch it. Where that goes on, the form is rewritten from then on.
  void note_refusal(graph_template& refused) noexcept;
  /// When its batch is done, or never began. One whose first launch was refused is not used again, for the next would be its first, and
  /// is the first to be given up.
  void give_back(graph_template& done) noexcept;
  void destroy() noexcept;
  /// Chains of all that there are.
  [[nodiscard]] std::uint32_t chains() const noexcept { return chains_; }

 private:
  struct family {
    std::vector<std::unique_ptr<graph_template>> all;
    std::vector<graph_template*> free;
    std::uint32_t rewritten = 0;    // batches, for want of one, since the last was made
    std::uint64_t last_taken = 0;   // by `takes_`
    std::uint32_t refusals = 0;     // launches
    bool refused = false;           // the driver cannot have such a one
  };
  [[nodiscard]] family* family_of(launch_form const& form, std::uint32_t& number);
  /// Destroys one that is free and was not needed for long. @return whether there was one.
  bool give_up_one() noexcept;

  context::floating_context const& context_;
  mapped_slabs& memory_;
  CUfunction updater_ = nullptr;
  std::map<launch_form, std::uint32_t> numbers_;
  std::vector<family> families_;
  std::vector<std::unique_ptr<graph_template>> dead_;  // never launched, and not to be
  std::size_t made_ = 0;
  std::uint32_t chains_ = 0;
  std::uint64_t takes_ = 0;
};

}  // namespace flotilla::dispatch
