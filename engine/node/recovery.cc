#include "engine/node/recovery.h"

#include <algorithm>
#include <set>

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

Async<Result<void>> Recovery::run() {
  const Timers& timers = node_.shards.home().runtime.timers;
  const int64_t began_us = timers.now_us();
  CO_TRY(const auto entries, co_await node_.manifest.load());
  CO_TRY(manifest_, decode_manifest(entries));
  if (node_.read_only) {
    CO_TRY_VOID(co_await run_read_only());
  } else {
    CO_TRY_VOID(co_await run_and_write());
  }
  report(timers.now_us() - began_us);
  co_return Result<void>{};
}

Async<void> Recovery::give_back() {
  if (node_.read_only || logs_named_) co_return;
  for (uint32_t i = 0; i < node_.shards.count(); ++i) {
    LogStore& logs = node_.shards.home().logs;
    const Result<void> removed = co_await logs.remove(make_log_id(manifest_.node.session, i));
    if (!removed) log_warn("node", "{}", removed.error().to_string());
  }
}

Async<Result<void>> Recovery::run_and_write() {
  CO_TRY_VOID(co_await raise_session());
  CO_TRY_VOID(co_await node_.clocks.keeper().start(manifest_.clock, manifest_.clock_version));
  CO_TRY_VOID(co_await resolve_token_window());
  node_.catalog.load(manifest_);
  count_shared_blobs();
  CO_TRY_VOID(co_await remove_orphan_blobs());
  CO_TRY_VOID(co_await remove_litter_logs());
  CO_TRY_VOID(co_await recover_shards());
  CO_TRY_VOID(co_await name_spans());
  CO_TRY_VOID(co_await remove_unnamed_logs());
  CO_TRY_VOID(co_await serve());
  node_.clocks.keeper().serve();
  node_.drops.serve();
  node_.loans.serve();
  co_return Result<void>{};
}

Async<Result<void>> Recovery::run_read_only() {
  if (!manifest_.clock) co_return fail(Errc::not_found, "the directory was never served");
  CO_TRY_VOID(co_await node_.clocks.keeper().stand(*manifest_.clock));
  node_.catalog.load(manifest_);
  count_shared_blobs();
  CO_TRY_VOID(co_await recover_shards());
  for (const ShardRecovery& shard : shards_) {
    for (const RecoveredTablet& tablet : shard.tablets) versions_[tablet.id] = tablet.version;
  }
  co_return co_await serve();
}

Async<Result<void>> Recovery::raise_session() {
  finished_ = manifest_.node.own_sessions;
  manifest_.node.draw_session();
  co_return co_await commit_node_state();
}

// Called when trusted time is known.
Async<Result<void>> Recovery::resolve_token_window() {
  const int64_t now_us = node_.shards.home().runtime.clock.now_us();
  const TokenWindow window =
      next_window(manifest_.node.tokens, node_.options.token_window_us, now_us);
  if (window == manifest_.node.tokens) co_return Result<void>{};
  manifest_.node.tokens = window;
  co_return co_await commit_node_state();
}

Async<Result<void>> Recovery::commit_node_state() {
  CatalogEdit edit(put_state(kNodeKey, manifest_.node_version, encode_node_state(manifest_.node)));
  CO_TRY(const auto versions, co_await node_.manifest.commit(std::move(edit)));
  manifest_.node_version = versions.front();
  co_return Result<void>{};
}

void Recovery::count_shared_blobs() {
  for (const TabletSeed& seed : manifest_.tablets) {
    for (const TableItem& table : seed.tables) ++named_blobs_[table.meta.blob];
  }
  for (TabletSeed& seed : manifest_.tablets) {
    for (TableItem& table : seed.tables) {
      const uint64_t names = named_blobs_.at(table.meta.blob);
      table.counted = table.shared || names > 1;
      if (table.counted) node_.files.shared_blobs.found(table.meta.blob, names);
    }
  }
}

Async<Result<void>> Recovery::remove_orphan_blobs() {
  BlobStore& blobs = node_.shards.home().blobs;
  CO_TRY(const auto found, co_await blobs.list());
  for (const BlobInfo& blob : found) {
    if (blob.sealed && named_blobs_.contains(blob.id)) continue;
    // What is not sealed is named nowhere.
    if (!is_finished(session_of(blob.id)) || (blob.sealed && !node_.manifest.has_all_tablets())) {
      ++kept_;
      continue;
    }
    const Result<void> removed = co_await blobs.remove(blob.id);
    if (removed) {
      ++orphans_;
    } else {
      log_warn("node", "an unused file stays until the next start: {}",
               removed.error().to_string());
    }
  }
  co_return Result<void>{};
}

Async<Result<void>> Recovery::recover_shards() {
  std::vector<std::vector<TabletSeed>> seeds(node_.shards.count());
  for (TabletSeed& seed : manifest_.tablets) {
    seeds[node_.catalog.tables().shard_of(seed.state.home).value()].push_back(std::move(seed));
  }
  manifest_.tablets.clear();
  shards_.resize(node_.shards.count());
  auto recover = [this, &seeds](ShardId shard) -> Async<Result<void>> {
    ShardEngine::Setup setup{.shard = shard,
                             .shards = node_.shards.count(),
                             .options = node_.options,
                             .session = manifest_.node.session,
                             .mailbox = node_.shards.mailbox(shard),
                             .manifest = node_.manifest,
                             .old_logs = node_.files.old_logs,
                             .shared_blobs = node_.files.shared_blobs,
                             .tokens = manifest_.node.tokens,
                             .ask_session = [&node = node_, shard] { node.sessions.ask(shard); },
                             .call_back = [&node = node_, shard] { node.loans.call_back(shard); },
                             .read_only = node_.read_only};
    node_.shards.make_part(shard, std::move(setup));
    ShardEngine& engine = node_.shards.engine(shard);
    CO_TRY(shards_[shard.value()], co_await engine.recover(std::move(seeds[shard.value()])));
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await node_.shards.on_every(std::move(recover)));
  node_.shards.logs_begun(manifest_.node.session);
  co_return Result<void>{};
}

Async<Result<void>> Recovery::name_spans() {
  logs_named_ = true;
  TabletEdit edit;
  size_t bytes = 0;
  for (const ShardRecovery& shard : shards_) {
    for (const RecoveredTablet& tablet : shard.tablets) {
      for (LogId log : tablet.old_logs) {
        node_.files.old_logs.name(log, is_removable(log));
      }
      edit.changes.push_back(
          put_state(key_of(tablet.id), tablet.version, encode_tablet_state(tablet.state)));
      bytes += edit.changes.back().state->size();
      if (bytes < kEditBytes) continue;
      CO_TRY_VOID(co_await commit_spans(std::exchange(edit, {})));
      bytes = 0;
    }
  }
  co_return co_await commit_spans(std::move(edit));
}

Async<Result<void>> Recovery::commit_spans(TabletEdit edit) {
  if (edit.changes.empty()) co_return Result<void>{};
  CO_TRY(const auto versions, co_await node_.manifest.commit(edit));
  for (size_t i = 0; i < versions.size(); ++i) {
    versions_[TabletId{edit.changes[i].key.id}] = versions[i];
  }
  co_return Result<void>{};
}

Async<Result<void>> Recovery::serve() {
  auto begin = [this](ShardId shard) -> Async<Result<void>> {
    ShardRecovery& recovery = shards_[shard.value()];
    std::vector<std::pair<RecoveredTablet, uint64_t>> tablets;
    for (RecoveredTablet& tablet : recovery.tablets) {
      const uint64_t version = versions_.at(tablet.id);
      tablets.emplace_back(std::move(tablet), version);
    }
    uint64_t torn_bytes = 0;
    for (const auto& [log, replayed] : recovery.replay.logs) torn_bytes += replayed.torn_tail_bytes;
    ShardPart& part = node_.shards.part(shard);
    part.tables = node_.catalog.map();
    part.engine.serve(std::move(tablets), torn_bytes);
    for (const auto& [id, table] : node_.catalog.tables().dropped()) {
      part.engine.hide(node_.shards.tablets_of(table.entry)[shard.value()], true);
    }
    co_return Result<void>{};
  };
  co_return co_await node_.shards.on_every(std::move(begin));
}

// Removes logs left by earlier starts before this one allocates its own: they may take the only
// space that is left.
Async<Result<void>> Recovery::remove_litter_logs() {
  LogStore& store = node_.shards.home().logs;
  const Result<size_t> litter = co_await store.remove_litter();
  if (!litter) {
    log_warn("node", "what is left of removed logs stays until the next start: {}",
             litter.error().to_string());
  }
  std::set<LogId> named;
  for (const TabletSeed& seed : manifest_.tablets) {
    for (const LogSpan& span : seed.state.spans) named.insert(span.log);
  }
  CO_TRY(const auto logs, co_await store.list());
  for (const LogId log : logs) {
    if (named.contains(log)) continue;
    if (!is_removable(log)) {
      ++kept_;
      continue;
    }
    const Result<void> removed = co_await store.remove(log);
    if (!removed) {
      log_warn("node", "an unused log stays until the next start: {}", removed.error().to_string());
    }
  }
  co_return Result<void>{};
}

Async<Result<void>> Recovery::remove_unnamed_logs() {
  LogStore& store = node_.shards.home().logs;
  CO_TRY(const auto logs, co_await store.list());
  size_t removed = 0;
  for (LogId log : logs) {
    const std::vector<LogId>& open = node_.shards.logs();
    const bool in_use = std::find(open.begin(), open.end(), log) != open.end();
    if (in_use || !is_removable(log) || node_.files.old_logs.named(log)) continue;
    node_.files.old_logs.remove(log);
    ++removed;
  }
  // Usually in the background. A node that is killed soon after every start would accumulate logs
  // without bound if no start waited.
  if (removed > kUnwaitedLogsPerShard * node_.shards.count()) co_await node_.files.old_logs.drain();
  co_return Result<void>{};
}

void Recovery::report(int64_t elapsed_us) {
  RecoveryReport& report = node_.recovery;
  std::map<LogId, LogReplayed> torn;  // several shards may have read one log
  for (const ShardRecovery& shard : shards_) {
    report.replayed_commits += shard.replay.commits;
    report.replayed_bytes += shard.replay.bytes;
    for (const auto& [log, replayed] : shard.replay.logs) torn[log] = replayed;
  }
  for (const auto& [log, replayed] : torn) {
    if (replayed.torn_tail_bytes == 0) continue;
    report.torn_tail_bytes += replayed.torn_tail_bytes;
    log_warn("node",
             "{}: torn tail, {} bytes are discarded: a write that a crash cut and nobody was told "
             "about, or a damaged last write",
             replayed.torn_place, replayed.torn_tail_bytes);
  }
  report.orphans_removed = orphans_;
  if (kept_ > 0) {
    log_info("node", "kept={}: blobs and logs that no tablet here names, and other nodes may",
             kept_);
  }
  report.elapsed_us = elapsed_us;
  log_info("node", "open session={} tables={} commits={} torn_bytes={} orphans={} us={}",
           manifest_.node.session, manifest_.tables.size(), report.replayed_commits,
           report.torn_tail_bytes, orphans_, elapsed_us);
}

}  // namespace cellar::engine
