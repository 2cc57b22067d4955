// A kernel faulted: the driver of this process is unusable, and every open ticket ends with that.
#include <map>

#include <flotilla/error.hpp>

#include "dispatch/core.hpp"
#include "driver/check.hpp"

namespace flotilla::dispatch {

namespace {
constexpr std::size_t most_suspects = 8;
}

void core::note(CUresult answer, device_queue const& seen_on) noexcept {
  if (answer == CUDA_ERROR_DEINITIALIZED || is_sticky(driver::status_of(answer))) { poison(answer, seen_on); }
}

void core::ask_all() noexcept {
  if (asking_.exchange(true, std::memory_order_acquire)) { return; }  // one asks for all
  for (auto const& each : devices_) {
    device_queue::verdict const said = each->ask_streams();
    if (said.final) { poison(said.answer, *each); }
  }
  asking_.store(false, std::memory_order_release);  // pairs with the exchange
}

void core::poison(CUresult answer, device_queue const& seen_on) noexcept {
  bool const over = answer == CUDA_ERROR_DEINITIALIZED;
  if (poisoning_.exchange(true, std::memory_order_acq_rel)) { return; }  // somebody is at it, or was
  std::string text;
  if (over) {
    text = "the CUDA driver has shut down while tasks were open";
  } else {
    // Every context of the process answers the same, so where it was seen says nothing. What the device was
    // at does: of each lane the first batch that did not come to its end.
    std::map<unsigned, std::string> suspects;  // by device
    std::map<std::uint64_t, std::uint64_t> first;  // by lane of a device: the lowest number not reached
    auto const each_suspect = [&](auto&& use) {
      auto const scan = [&](slot_pool& slots, std::uint32_t number) {
        for (std::uint32_t i = 0; i < slots.touched(); ++i) {
          slot& of = slots[i];
          if (!generation_word{of.generation.load(std::memory_order_acquire)}.open()) { continue; }
          end_mark const end{of.end.load(std::memory_order_acquire)};
          if (!end.launched() || devices_[end.device()]->page->number(end.lane()) >= end.number()) { continue; }
          use(number << 16 | i, end);
        }
      };
      for (auto const& queue : devices_) { scan(queue->pool, queue->index); }
      scan(any_pool_, static_cast<std::uint32_t>(devices_.size()));
    };
    each_suspect([&](slot_address, end_mark end) {
      auto const [at, fresh] = first.try_emplace(end.word >> 48, end.number());
      if (!fresh) { at->second = std::min(at->second, end.number()); }
    });
    std::map<unsigned, std::size_t> counts;
    each_suspect([&](slot_address address, end_mark end) {
      if (first[end.word >> 48] != end.number() || ++counts[end.device()] > most_suspects) { return; }
      std::string& list = suspects[end.device()];
      list += (list.empty() ? "" : "; ") + devices_[end.device()]->describe(address);
    });
    text = to_string(driver::status_of(answer)) + " (" + std::to_string(static_cast<int>(answer)) +
           (is_sticky(driver::status_of(answer))
              ? "): a kernel faulted, and the CUDA driver of this process is unusable. "
              : "): the device's streams answer nothing else any more. ");
    if (suspects.empty()) { text += "Seen on " + seen_on.context.subject() + "; no launch was open. "; }
    for (auto const& [device, list] : suspects) {
      flotilla::device const& info = devices_[device]->info;
      text += "Suspects on device " + std::to_string(device) + " (" + info.name + ", " + info.uuid + ", " + info.pci_id +
              "): " + list + (counts[device] > most_suspects ? "; and more" : "") + ". ";
    }
    text += "Going on needs another process.";
  }
  poison_ = failure_of(std::make_exception_ptr(poisoned(driver::status_of(answer), text)));
  poisoned_.store(true, std::memory_order_release);  // pairs with the acquire in is_poisoned
  // What waits on a device for what will never come: else no context could be ended.
  for (auto const& each : devices_) { each->page->stop(); }
}

}  // namespace flotilla::dispatch
