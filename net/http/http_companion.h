// HttpCompanion: the HTTP listener of a node, with its own thread and loop.
#pragma once

#include <memory>

#include "io/base/clock.h"
#include "net/server/process/sidecar.h"

namespace cellar::http {

// Listens from start() on at http.listen; disabled if that is empty. `clock` must outlive it.
std::unique_ptr<server::Sidecar> make_companion(const Clock& clock);

}  // namespace cellar::http
