#pragma once
/// Marks what leaves the library: everything else is compiled with hidden visibility.
/// A standard attribute, so that it can stand beside [[nodiscard]] in either order.

#define FLOTILLA_EXPORT [[gnu::visibility("default")]]
