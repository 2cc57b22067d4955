// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu_driver/kernel/kernel_fault.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "base/fault_line.hpp"

namespace flotilla::cpu_driver {

namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
// A handler that was installed before may need much, such as that of a sanitizer.
constexpr std::size_t stack_bytes = std::size_t{1} << 16;

/// The kernel that a thread runs. No thread_local variable: its first use in a thread may allocate
/// memory, which a signal handler must not do. With the model initial-exec it would not, but then
/// programs could not open the drop-in with dlopen.
class kernel_of_thread {
 public:
  kernel_of_thread() noexcept : is_there_(::pthread_key_create(&key_, nullptr) == 0) {}
  [[nodiscard]] running_kernel const* get() const noexcept {
    return is_there_ ? static_cast<running_kernel const*>(::pthread_getspecific(key_)) : nullptr;
  }
  /// Without memory, a fault of the kernel prints no line.
  void set(running_kernel const* kernel) const noexcept {
    if (is_there_) { ::pthread_setspecific(key_, kernel); }
  }

 private:
  pthread_key_t key_{};
  bool const is_there_;
};
kernel_of_thread const running;

char const* text_of(int signal) noexcept {
  switch (signal) {
    case SIGFPE: return "an integer division by zero, or an overflow of a division";
    case SIGILL: return "an instruction that this processor does not have";
    default: return "an invalid access to address 0x";
  }
}

void add_index(base::fault_line& line, char const* what, cpu::index3 const& index) noexcept {
  line.add(what).add("(").add(index.x).add(", ").add(index.y).add(", ").add(index.z).add(")");
}

void print(running_kernel const& kernel, int signal, siginfo_t const& info) noexcept {
  base::fault_line line;
  line.add("flotilla: error: kernel '").add(kernel.name).add("', ");
  if (!base::describe_fault(kernel.name, kernel.device, line)) {
    line.add("CPU device ").add(static_cast<std::uint64_t>(kernel.device));
  }
  line.add(": ").add(text_of(signal));
  if (signal == SIGSEGV || signal == SIGBUS) {
    line.add(reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
  }
  add_index(line, " in block ", kernel.block.block_index);
  add_index(line, ", thread ", kernel.block.thread_index);
  line.add(" (signal ").add(static_cast<std::uint64_t>(signal)).add(")").write();
}

/// The handlers of the process. They are restored when the library is unloaded.
class handlers {
 public:
  static handlers& of_process() {
    static handlers all;
    return all;
  }
  handlers(handlers const&) = delete;
  handlers& operator=(handlers const&) = delete;

 private:
  handlers() noexcept {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      // First store what was there: a signal can come at once.
      ::sigaction(signals[i], nullptr, &before_[i]);
      struct sigaction ours {};
      ours.sa_sigaction = &handle;
      ours.sa_mask = before_[i].sa_mask;
      // On the stack of fault_stack, because a kernel may have overflowed its own. The other flags
      // are what the handler before expects.
      ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (before_[i].sa_flags & (SA_NODEFER | SA_RESTART));
      ::sigaction(signals[i], &ours, nullptr);
    }
    self_.store(this, std::memory_order_release);  // pairs with the acquire in handle
  }
  ~handlers() {
    for (std::size_t i = 0; i < signals.size(); ++i) {
      struct sigaction now {};
      ::sigaction(signals[i], nullptr, &now);
      // A handler that was installed later may have ours as its predecessor. Leave it in place.
      bool const is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &handle;
      if (is_ours) { ::sigaction(signals[i], &before_[i], nullptr); }
    }
  }

  // Not noexcept, here and below: the handler before may leave by an exception.
  static void handle(int signal, siginfo_t* info, void* context) {
    bool const is_fault = info->si_code > 0;  // otherwise, kill() or a like function has sent it
    running_kernel const* const kernel = running.get();
    // The handler before may let the kernel go on, again and again.
    constexpr int max_lines = 8;
    if (is_fault && kernel != nullptr && lines_.fetch_add(1) < max_lines) {
      running.set(nullptr);  // a handler that is called below may cause a signal of its own
      print(*kernel, signal, *info);
      running.set(kernel);
    }
    handlers* const self = self_.load(std::memory_order_acquire);
    for (std::size_t i = 0; self != nullptr && i < signals.size(); ++i) {
      if (signals[i] == signal) { pass_on(self->before_[i], signal, info, context); }
    }
  }

  static void pass_on(struct sigaction const& to, int signal, siginfo_t* info, void* context) {
    if ((to.sa_flags & SA_SIGINFO) != 0) { return to.sa_sigaction(signal, info, context); }
    bool const is_sent = info->si_code <= 0;
    if (to.sa_handler == SIG_IGN && is_sent) { return; }
    if (to.sa_handler != SIG_IGN && to.sa_handler != SIG_DFL) { return to.sa_handler(signal); }
    // The default action. After the return, the instruction causes the signal again, so that a core
    // dump shows the kernel. A signal that was sent must be sent again.
    struct sigaction normal {};
    normal.sa_handler = SIG_DFL;
    ::sigaction(signal, &normal, nullptr);
    if (is_sent) { ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), signal); }
  }

  static inline std::atomic<handlers*> self_{nullptr};
  static inline std::atomic<int> lines_{0};
  std::array<struct sigaction, signals.size()> before_{};
};

}  // namespace

running_kernel::running_kernel(char const* kernel, int on, cpu::block_services const& of) noexcept
    : name(kernel), device(on), block(of) {
  running.set(this);
}

running_kernel::~running_kernel() { running.set(nullptr); }

fault_stack::fault_stack() noexcept {
  handlers::of_process();
  stack_t present{};
  if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) { return; }
  void* const memory = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) { return; }  // then a stack overflow ends the process without a line
  stack_t const made{.ss_sp = memory, .ss_flags = 0, .ss_size = stack_bytes};
  if (::sigaltstack(&made, nullptr) == 0) {
    memory_ = memory;
  } else {
    ::munmap(memory, stack_bytes);
  }
}

fault_stack::~fault_stack() {
  if (memory_ == nullptr) { return; }
  stack_t present{};
  bool const is_ours = ::sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (is_ours) { ::sigaltstack(&none, nullptr); }
  ::munmap(memory_, stack_bytes);
}

}  // namespace flotilla::cpu_driver
