// SPDX-FileCopyrightText: The flotilla authors
// SPDX-License-Identifier: Apache-2.0

// A range whose size is not known, as the arguments of a bulk.
// expect: needs a range of known size

#include <ranges>
#include <tuple>
#include <vector>

#include <flotilla/flotilla.hpp>

void run(flotilla::runtime& rt, flotilla::kernel<float*, int> const& kernel,
         std::vector<std::tuple<float*, int>> const& parts) {
#ifdef MISTAKE
  (void)rt.submit(flotilla::bulk(kernel.over(32), parts | std::views::filter([](auto const& part) {
                                                    return std::get<1>(part) > 0;
                                                  })));
#else
  (void)rt.submit(flotilla::bulk(kernel.over(32), parts));
#endif
}
