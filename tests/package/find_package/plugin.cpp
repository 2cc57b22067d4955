// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A plug-in that contains the static library and uses many parts of the interface.

#include <iostream>
#include <vector>

#include <flotilla/flotilla.hpp>

extern "C" [[gnu::visibility("default")]] int plugin_run(flotilla::image const& code) {
  try {
    flotilla::runtime rt;
    auto const scale = rt.load(code).kernel<float*, float, int>("scale");
    std::vector<float> values(32, 1.5f);
    flotilla::device_buffer<float> there{rt, rt.devices()[0], values};
    auto const scaled = rt.submit(scale.over(values.size())(there, 2.0f, 32));
    auto const back = rt.submit(there.copy_to(values), {.after = {scaled}});
    flotilla::wait_any(scaled, back) == 0 ? scaled.wait() : back.wait();
    rt.submit([](flotilla::task_context&) {}).wait();
  } catch (flotilla::poisoned const& bad) {
    std::cerr << bad.what() << '\n';
  } catch (flotilla::error const& bad) { std::cerr << bad.what() << '\n'; }
  return 0;
}
