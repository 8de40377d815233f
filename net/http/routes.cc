#include "net/http/routes.h"

namespace cellar::http {
namespace {

constexpr Route kRoutes[] = {
    {Method::get, "/healthz", Access::open, false, handle_healthz},
    {Method::get, "/readyz", Access::open, false, handle_readyz},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace cellar::http
