// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#pragma once
// A program that uses a runtime for everything, and knows what each task must have done.

#include <cuda.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <flotilla/flotilla.hpp>
#include <flotilla/interop.hpp>

#include "support/kernels.hpp"

namespace flotilla::test {

/// What went wrong in a program. An error that was reported is right; a violation is not.
struct findings {
  std::vector<std::string> errors;
  std::vector<std::string> violations;
  void report(std::string const& where, std::exception const& why);
};

/// A stream and an event of the application, in a context of its own. If the driver refuses them,
/// `event` is null, and the program does without.
class application_stream {
 public:
  application_stream();
  ~application_stream();
  application_stream(application_stream const&) = delete;
  /// Records the event in the stream. @return whether the driver has accepted it.
  [[nodiscard]] bool record();
  [[nodiscard]] CUevent event() const { return event_; }
  [[nodiscard]] CUstream stream() const { return stream_; }

 private:
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
};

/// Submits tasks of one kind after the other. A submit may throw, and a task may fail. But if a
/// ticket says success, `verify` must hold.
class workload {
 public:
  workload(runtime& rt, program loaded, application_stream& stream, findings& found);
  ~workload();
  /// Runs everything and waits for all tasks.
  void run();

 private:
  struct expectation {
    ticket of;
    std::string name;
    std::function<bool()> verify;
  };
  using values = std::vector<unsigned>;
  using buffer = device_buffer<unsigned>;

  void copies();
  void raise_tiles(flow& work, data<unsigned, 2>& of);
  void rectangles();
  void fills_and_attributes();
  void bulks();
  void functions();
  void replays();
  void steps_over_devices();
  void flow_of_two_devices();
  void flow_of_tiles();
  void variables();
  void short_lived_memory();
  void streams();

  template <class T, class... Args>
  T& keep(Args&&... args) {
    auto made = std::make_shared<T>(std::forward<Args>(args)...);
    kept_.push_back(made);
    return *made;
  }
  /// The same for memory of the program, which tasks may use until the runtime has ended.
  template <class T, class... Args>
  T& keep_long(Args&&... args) {
    auto made = std::make_shared<T>(std::forward<Args>(args)...);
    long_lived().push_back(made);
    return *made;
  }
  static std::vector<std::shared_ptr<void>>& long_lived();
  void expect(ticket&& of, std::string name, std::function<bool()> verify = {});
  void settle();
  [[nodiscard]] device_ordinal on(std::size_t i) const {
    return device_ordinal{static_cast<unsigned>(i % 2)};
  }
  [[nodiscard]] launch increments(buffer& of) const;

  runtime& rt_;
  program program_;
  application_stream& stream_;
  findings& found_;
  kernel<unsigned*, unsigned> increment_;
  std::vector<expectation> expected_;
  std::vector<std::shared_ptr<void>> kept_;  // destroyed in reverse order
};

}  // namespace flotilla::test
