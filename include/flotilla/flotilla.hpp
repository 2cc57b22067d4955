#pragma once
/// All of flotilla, but for <flotilla/native.hpp>, which needs cuda.h, and <flotilla/coroutine.hpp>.

#include <flotilla/buffer.hpp>
#include <flotilla/completion.hpp>
#include <flotilla/context_driver.hpp>
#include <flotilla/context_floating.hpp>
#include <flotilla/context_ref.hpp>
#include <flotilla/context_source.hpp>
#include <flotilla/counters.hpp>
#include <flotilla/device.hpp>
#include <flotilla/driver_report.hpp>
#include <flotilla/driver_status.hpp>
#include <flotilla/error.hpp>
#include <flotilla/image.hpp>
#include <flotilla/injection.hpp>
#include <flotilla/kernel.hpp>
#include <flotilla/launch.hpp>
#include <flotilla/placement.hpp>
#include <flotilla/program.hpp>
#include <flotilla/recording.hpp>
#include <flotilla/runtime.hpp>
#include <flotilla/settings.hpp>
#include <flotilla/settings_report.hpp>
#include <flotilla/ticket.hpp>
#include <flotilla/transfer.hpp>
#include <flotilla/version.hpp>
#include <flotilla/work.hpp>
