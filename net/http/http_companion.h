// HttpCompanion: the HTTP listener beside a node: its thread, its loop, its life.
#pragma once

#include <memory>

#include "io/base/clock.h"
#include "net/server/process/companion.h"

namespace cellar::http {

// It listens from start() on where http.listen says; with an empty one it does nothing. `clock`
// outlives it.
std::unique_ptr<server::Companion> make_companion(const Clock& clock);

}  // namespace cellar::http
