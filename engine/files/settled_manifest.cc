#include "engine/files/settled_manifest.h"

#include <algorithm>

#include "io/base/log.h"

namespace cellar::engine {

void SettledManifest::on_failure(FailureListener listener) {
  listener_ = listener;
  store_.on_failure(std::move(listener));
}

void SettledManifest::fail(const Error& cause) {
  log_error("node", "the manifest is given up, nothing more is changed: {}", cause.to_string());
  failure_ =
      Error(Errc::unavailable,
            fmt::format("the outcome of an edit of the manifest is not known: {}", cause.message))
          .outcome(Applied::maybe_applied);
  if (listener_) listener_(*failure_);
}

template <class Edit>
Async<Result<ManifestStore::Versions>> SettledManifest::ask_until_known(Edit edit) {
  if (failure_) {
    Error refused = *failure_;
    refused.applied = Applied::not_applied;
    co_return std::unexpected(std::move(refused));
  }
  edit.id = EditId{runtime_.random.next() | 1};
  bool maybe_applied = false;
  const int64_t give_up_us = runtime_.timers.now_us() + kGiveUpUs;
  for (int64_t pause_us = kFirstPauseUs;; pause_us = std::min(2 * pause_us, kLastPauseUs)) {
    Edit attempt = edit;
    Result<Versions> answer = co_await store_.commit(std::move(attempt));
    if (answer || answer.error().code == Errc::aborted) co_return answer;
    const bool unknown = answer.error().applied == Applied::maybe_applied;
    if (!unknown && !maybe_applied) co_return answer;
    maybe_applied = true;
    const bool is_last = !unknown || runtime_.timers.now_us() >= give_up_us;
    if (!failure_ && is_last) fail(answer.error());
    if (failure_) co_return std::unexpected(*failure_);
    co_await sleep_us(runtime_.timers, pause_us);
  }
}

template Async<Result<ManifestStore::Versions>> SettledManifest::ask_until_known(TabletEdit edit);
template Async<Result<ManifestStore::Versions>> SettledManifest::ask_until_known(ReshapeEdit edit);
template Async<Result<ManifestStore::Versions>> SettledManifest::ask_until_known(CatalogEdit edit);

}  // namespace cellar::engine
