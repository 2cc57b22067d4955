#pragma once
/// Marks the names that the library exports. Everything else is compiled with hidden visibility.
/// A standard attribute, so that it can be combined with [[nodiscard]] in either order.

#define FLOTILLA_EXPORT [[gnu::visibility("default")]]
