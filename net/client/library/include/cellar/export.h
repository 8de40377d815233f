// The names of the library are in cellar::v0, which is part of every symbol: types whose layout
// changes move to another namespace, so that programs keep the one that they were built with.
#pragma once

// The library itself is built with names of its own in cellar, beside which v0 is not inline.
#ifdef CELLAR_LIBRARY_BUILD
#define CELLAR_VERSIONED namespace v0
#else
#define CELLAR_VERSIONED inline namespace v0
#endif

#define CELLAR_API __attribute__((visibility("default")))
