#include "engine/reshape/seal.h"

#include "engine/jobs/flush.h"

namespace cellar::engine {
namespace {

Async<Result<void>> come_to_rest(Tablet& tablet) {
  CO_TRY(const Gate::Pass pass, tablet.gate().enter());
  tablet.set_sealing(true);
  co_await tablet.conditions().drained();
  if (!tablet.sealing()) co_return fail(Errc::aborted, "the seal was called off");
  tablet.refuse_writes(true);
  co_await tablet.commits().drained();
  CO_TRY_VOID(co_await flush_tablet(tablet));
  co_await tablet.begin_drop();
  if (!tablet.sealing() || tablet.condemned() || tablet.has_unflushed()) {
    co_return fail(Errc::aborted, "the seal of tablet {} was called off", tablet.id());
  }
  co_return Result<void>{};
}

}  // namespace

Async<Result<void>> seal_tablet(Tablet& tablet) {
  auto sealed = co_await come_to_rest(tablet);
  if (!sealed) unseal_tablet(tablet);
  co_return sealed;
}

void unseal_tablet(Tablet& tablet) {
  tablet.set_sealing(false);
  tablet.refuse_writes(false);
  tablet.cancel_drop();
}

}  // namespace cellar::engine
