#include "cpu_driver/perform.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cpu_driver/driver_state.hpp"
#include "cpu_driver/graph_run.hpp"
#include "cpu_driver/run_launch.hpp"

namespace flotilla::cpu_driver {
namespace {

thread_local bool inside_host_function = false;

template <class Word>
void fill(fill_memory const& todo) noexcept {
  auto* const first = static_cast<Word*>(todo.address);
  std::fill_n(first, todo.elements, static_cast<Word>(todo.value));
}

/// Atomic, because host threads and other devices look at the same word.
template <class Word>
void store_value(write_value const& todo) noexcept {
  // release: pairs with the acquire of whoever polls: a host thread, or read_value()
  std::atomic_ref<Word>(*static_cast<Word*>(todo.address))
      .store(static_cast<Word>(todo.value), std::memory_order_release);
}

template <class Word, class Signed>
bool compare(wait_value const& wanted) noexcept {
  auto* const address = const_cast<Word*>(static_cast<Word const*>(wanted.address));
  // acquire: pairs with the release of who writes the value: a host thread, or store_value()
  Word const seen = std::atomic_ref<Word>(*address).load(std::memory_order_acquire);
  auto const value = static_cast<Word>(wanted.value);
  switch (wanted.comparison) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<Signed>(seen - value) >= 0;  // cyclic
    case CU_STREAM_WAIT_VALUE_EQ: return seen == value;
    case CU_STREAM_WAIT_VALUE_AND: return (seen & value) != 0;
    default: return static_cast<Word>(~(seen | value)) != 0;  // CU_STREAM_WAIT_VALUE_NOR
  }
}

struct performer {
  context& owner;
  device& home;

  CUresult operator()(std::monostate) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(launch_kernel& todo) const noexcept { return run_launch(todo, owner, home); }
  CUresult operator()(copy_bytes& todo) const noexcept {
    std::memmove(todo.to, todo.staged ? todo.staged.get() : todo.from, todo.bytes);
    return CUDA_SUCCESS;
  }
  CUresult operator()(fill_memory& todo) const noexcept {
    perform_fill(todo);
    return CUDA_SUCCESS;
  }
  CUresult operator()(record_event& todo) const noexcept {
    todo.what->happen();
    return CUDA_SUCCESS;
  }
  CUresult operator()(write_value& todo) const noexcept {
    perform_write(todo);
    return CUDA_SUCCESS;
  }
  CUresult operator()(call_host& todo) const noexcept {
    perform_call(todo);
    return CUDA_SUCCESS;
  }
  CUresult operator()(free_memory& todo) const noexcept {
    driver_state::get().memory().finish_free(todo.address);
    return CUDA_SUCCESS;
  }
  CUresult operator()(run_graph& todo) const noexcept { return todo.what->go_on(owner, home); }
  // They have done their part when they are startable, or are the executor's own.
  CUresult operator()(wait_event&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(wait_value&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(reach_latch&) const noexcept { return CUDA_SUCCESS; }
  CUresult operator()(close_stream&) const noexcept { return CUDA_SUCCESS; }
};

}  // namespace

CUresult perform(operation& todo, context& owner, device& home) noexcept {
  return std::visit(performer{owner, home}, todo.what);
}

void perform_fill(fill_memory const& todo) noexcept {
  switch (todo.width) {
    case 1: fill<std::uint8_t>(todo); break;
    case 2: fill<std::uint16_t>(todo); break;
    default: fill<std::uint32_t>(todo); break;
  }
}

void perform_write(write_value const& todo) noexcept {
  todo.width == 4 ? store_value<std::uint32_t>(todo) : store_value<std::uint64_t>(todo);
}

void perform_call(call_host const& todo) noexcept {
  inside_host_function = true;
  todo.function(todo.user);
  inside_host_function = false;
}

void drop(operation& todo) noexcept {
  if (auto* const recorded = std::get_if<record_event>(&todo.what)) {
    recorded->what->drop();
  } else if (auto* const freed = std::get_if<free_memory>(&todo.what)) {
    driver_state::get().memory().finish_free(freed->address);
  } else if (auto* const run = std::get_if<run_graph>(&todo.what)) {
    run->what->end();
  }
}

bool satisfied(wait_value const& wanted) noexcept {
  return wanted.width == 4 ? compare<std::uint32_t, std::int32_t>(wanted)
                           : compare<std::uint64_t, std::int64_t>(wanted);
}

bool in_host_function() noexcept { return inside_host_function; }

}  // namespace flotilla::cpu_driver
