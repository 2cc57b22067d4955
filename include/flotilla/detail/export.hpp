#pragma once
/// Marks the names that the library exports. All other names have hidden visibility.
/// The macro uses the [[...]] syntax, so that [[nodiscard]] can stand before or after the macro.

#define FLOTILLA_EXPORT [[gnu::visibility("default")]]
