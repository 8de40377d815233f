#include "engine/store/manifest/local_manifest_store.h"

#include <algorithm>
#include <set>

#include "engine/record/file_header.h"
#include "engine/store/file/record_file.h"
#include "engine/store/out_of_space.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

std::string_view kind_name(ManifestKey::Kind kind) {
  switch (kind) {
    case ManifestKey::Kind::node:
      return "node";
    case ManifestKey::Kind::table:
      return "table";
    case ManifestKey::Kind::tablet:
      return "tablet";
    case ManifestKey::Kind::clock:
      return "clock";
    case ManifestKey::Kind::audit:
      return "audit trail";
  }
  return "key";
}

uint64_t total_bytes(const std::vector<std::string>& entries) {
  uint64_t bytes = 0;
  for (const std::string& entry : entries) bytes += entry.size();
  return bytes;
}

}  // namespace

Async<Result<std::unique_ptr<LocalManifestStore>>> LocalManifestStore::open(
    FileSystem& fs, ManifestOptions options) {
  std::unique_ptr<LocalManifestStore> store(new LocalManifestStore(fs, options));
  CO_TRY_VOID(co_await store->start());
  co_return store;
}

Async<Result<std::unique_ptr<LocalManifestStore>>> LocalManifestStore::open_read_only(
    FileSystem& fs, Error why) {
  std::unique_ptr<LocalManifestStore> store(new LocalManifestStore(fs, ManifestOptions()));
  CO_TRY_VOID(co_await store->load_current());
  if (store->loaded_number_ == 0) co_return fail(Errc::not_found, "there is no {}", kCurrentPath);
  why.applied = Applied::not_applied;
  store->failure_ = std::move(why);
  co_return store;
}

Async<Result<void>> LocalManifestStore::start() {
  const std::string directory(kManifestDirectory);
  const std::string root;
  CO_TRY_VOID(co_await fs_.create_dir(directory));
  CO_TRY_VOID(co_await fs_.sync_dir(root));
  CO_TRY_VOID(co_await load_current());
  CO_TRY_VOID(co_await recover_current(fs_));
  co_await tidy();
  CO_TRY_VOID(co_await roll(0));
  co_return Result<void>();
}

Async<Result<void>> LocalManifestStore::load_current() {
  const std::string directory(kManifestDirectory);
  CO_TRY(const auto entries, co_await fs_.list(directory));
  std::vector<uint64_t> numbers;
  for (const DirEntry& entry : entries) {
    if (const auto number = parse_manifest_name(entry.name)) numbers.push_back(*number);
  }
  for (const uint64_t number : numbers) greatest_number_ = std::max(greatest_number_, number);
  CO_TRY(const std::optional<uint64_t> current, co_await read_current(fs_));
  if (current && std::find(numbers.begin(), numbers.end(), *current) == numbers.end()) {
    co_return fail(Errc::data_loss, "{} is missing, though {} names it", manifest_path(*current),
                   kCurrentPath);
  }
  if (current) {
    CO_TRY(LoadedManifest loaded, co_await load_manifest(fs_, *current));
    if (!loaded.state.complete) {
      co_return fail(Errc::data_loss, "{} has no whole snapshot", manifest_path(*current));
    }
    state_ = std::move(loaded.state);
    loaded_number_ = *current;
    torn_tail_bytes_ = loaded.torn_tail_bytes;
    if (torn_tail_bytes_ > 0) {
      log_info("store", "discarded {} bytes of an edit that was never answered, file={}",
               torn_tail_bytes_, manifest_path(*current));
    }
    co_return Result<void>();
  }
  // Without CURRENT there may only be empty snapshots, left by interrupted first starts.
  for (const uint64_t number : numbers) {
    CO_TRY(const LoadedManifest loaded, co_await load_manifest(fs_, number));
    if (loaded.edits > 0 || !loaded.state.entries.empty()) {
      co_return fail(Errc::data_loss, "{} is missing, though {} is there", kCurrentPath,
                     manifest_path(number));
    }
  }
  co_return Result<void>();
}

Async<Result<void>> LocalManifestStore::roll(uint64_t extra_bytes) {
  const std::vector<std::string> entries = encode_snapshot(state_);
  const uint64_t snapshot = ManifestFile::cost(total_bytes(entries), entries.size());
  const uint64_t edits = std::max(options_.min_edit_bytes, options_.edits_per_snapshot * snapshot);
  const uint64_t least = std::min(edits, options_.least_edit_bytes);
  const auto file_bytes = [&](uint64_t edit_bytes) {
    return align_up(kFileHeaderBlockBytes + snapshot + std::max(edit_bytes, 2 * extra_bytes));
  };
  const uint64_t number = greatest_number_ + 1;
  auto created = co_await create_file(number, file_bytes(least), file_bytes(edits));
  if (!created) co_return std::unexpected(std::move(created).error());
  greatest_number_ = number;
  Result<void> written = co_await (*created)->write(entries);
  SwitchOutcome outcome;
  if (written) {
    outcome = co_await write_current(fs_, number);
    if (outcome.switched == Switched::no) written = std::unexpected(*outcome.error);
  }
  if (!written) {
    // Nothing refers to the new file yet; the old one is still valid.
    auto closed = co_await (*created)->close();
    (void)closed;
    co_await tidy();
    co_return written;
  }
  if (outcome.switched == Switched::maybe) {
    // The renames may or may not survive, so neither file may be written any more.
    auto closed = co_await (*created)->close();
    (void)closed;
    co_return poison(*outcome.error);
  }
  if (file_ != nullptr) {
    auto closed = co_await file_->close();
    if (!closed) log_warn("store", "{}", closed.error().to_string());
  }
  file_ = *std::move(created);
  co_await tidy();
  co_await keep_pointer(fs_);
  co_await extend_spare(file_->file_bytes());
  co_return Result<void>();
}

Async<Result<std::unique_ptr<ManifestFile>>> LocalManifestStore::create_file(
    uint64_t number, uint64_t least_bytes, uint64_t wanted_bytes) {
  if (spare_bytes_ > 0 && spare_bytes_ < wanted_bytes) co_await extend_spare(wanted_bytes);
  if (spare_bytes_ >= least_bytes) {
    const uint64_t bytes = std::min(spare_bytes_, wanted_bytes);
    spare_bytes_ = 0;
    co_return co_await ManifestFile::create(fs_, number, bytes, std::string(kSpareManifestPath));
  }
  auto created = co_await ManifestFile::create(fs_, number, wanted_bytes, std::nullopt);
  if (created || !is_out_of_space(created.error())) co_return created;
  co_return co_await ManifestFile::create(fs_, number, least_bytes, std::nullopt);
}

Async<void> LocalManifestStore::tidy() {
  const std::string directory(kManifestDirectory);
  const std::string spare(kSpareManifestPath);
  const std::string kept = manifest_path(file_ != nullptr ? file_->number() : loaded_number_);
  auto entries = co_await fs_.list(directory);
  if (!entries) co_return;  // the next start retries
  const auto is_spare = [](const DirEntry& entry) { return entry.name == "spare"; };
  const auto found = std::find_if(entries->begin(), entries->end(), is_spare);
  spare_bytes_ = found == entries->end() ? 0 : align_down(found->size);
  for (const DirEntry& entry : *entries) {
    const std::string path = directory + "/" + entry.name;
    if (path == kept || path == spare || path.starts_with(kCurrentPath)) continue;
    if (spare_bytes_ == 0 && entry.size >= options_.least_edit_bytes) {
      const Result<void> renamed = co_await fs_.rename(path, spare);
      if (renamed) spare_bytes_ = align_down(entry.size);
      if (renamed) continue;
    }
    auto removed = co_await fs_.remove(path);
    if (!removed) log_warn("store", "{}", removed.error().to_string());
  }
}

Async<void> LocalManifestStore::extend_spare(uint64_t to_bytes) {
  if (spare_bytes_ >= to_bytes) co_return;
  edits_without_spare_ = 0;
  const std::string spare(kSpareManifestPath);
  OpenOptions options;
  options.mode = spare_bytes_ == 0 ? OpenOptions::Mode::create_new : OpenOptions::Mode::read_write;
  auto file = co_await fs_.open(spare, options);
  if (!file && file.error().code == Errc::already_exists) {  // there was no room for its bytes
    options.mode = OpenOptions::Mode::read_write;
    file = co_await fs_.open(spare, options);
  }
  if (!file) co_return;  // as with a full disk: the next file takes the space available
  Result<void> extended = co_await (*file)->allocate(0, to_bytes);
  const Result<uint64_t> size = co_await (*file)->size();
  extended = co_await close_after(*std::move(file), std::move(extended));
  if (size) spare_bytes_ = align_down(*size);
  if (!extended) {
    log_info("store", "no room for {} bytes of the next manifest: {}", to_bytes,
             extended.error().message);
  }
}

Async<Result<std::map<ManifestKey, ManifestEntry>>> LocalManifestStore::load() {
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  co_return state_.entries;
}

Result<void> LocalManifestStore::check(const std::vector<VersionEdit>& changes) const {
  if (failure_) {
    Error refused = *failure_;
    refused.applied = Applied::not_applied;
    return std::unexpected(std::move(refused));
  }
  if (closed_) return fail(Errc::unavailable, "the manifest is closed");
  std::set<ManifestKey> seen;
  for (const VersionEdit& change : changes) {
    const ManifestKey key = change.key;
    if (!seen.insert(key).second) {
      return fail(Errc::invalid_argument, "an edit names {} {} twice", kind_name(key.kind), key.id);
    }
    const uint64_t version = state_.version_of(key);
    if (version != change.expected_version) {
      return fail(Errc::aborted, "{} {} has version {}, expected was {}", kind_name(key.kind),
                  key.id, version, change.expected_version);
    }
  }
  return {};
}

Async<Result<ManifestStore::Versions>> LocalManifestStore::write(std::vector<VersionEdit> changes,
                                                                 bool allowed) {
  if (!allowed) {
    co_return fail(Errc::invalid_argument, "the kind of an edit does not allow one of its changes");
  }
  Pending mine{.changes = std::move(changes), .outcome = {}, .done = false};
  queue_.push_back(&mine);
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  // The lock is FIFO, so this edit is done or is the first that is not.
  if (!mine.done) co_await write_group();
  co_return std::move(mine.outcome);
}

Async<void> LocalManifestStore::write_group() {
  std::vector<Pending*> group;
  std::vector<std::string> entries;
  std::set<ManifestKey> named;
  uint64_t next_version = state_.next_version;
  size_t bytes = 0;
  while (!queue_.empty() && bytes < kGroupBytes) {
    Pending& next = *queue_.front();
    const auto is_named = [&](const VersionEdit& change) { return named.contains(change.key); };
    if (std::ranges::any_of(next.changes, is_named)) break;
    queue_.pop_front();
    next.done = true;
    if (auto possible = check(next.changes); !possible) {
      next.outcome = std::unexpected(std::move(possible).error());
      continue;
    }
    Versions versions;
    uint64_t version = next_version;
    for (const VersionEdit& change : next.changes) {
      versions.push_back(change.remove ? kAbsent : version++);
    }
    std::string entry = encode_edit(next.changes, versions, version);
    if (entry.size() > kMaxEditBytes) {
      next.outcome = fail(Errc::invalid_argument, "an edit of {} bytes is longer than {}",
                          entry.size(), kMaxEditBytes);
      continue;
    }
    next_version = version;
    next.outcome = std::move(versions);
    for (const VersionEdit& change : next.changes) named.insert(change.key);
    bytes += entry.size();
    entries.push_back(std::move(entry));
    group.push_back(&next);
  }
  if (group.empty()) co_return;
  const auto written = co_await write_entries(entries);
  for (Pending* edit : group) {
    if (!written) edit->outcome = std::unexpected(written.error());
  }
  for (size_t i = 0; written && i < entries.size(); ++i) {
    const auto applied = apply_entry(entries[i], state_);
    CHECK(applied, "an edit that was written cannot be read: {}", applied.error().message);
  }
}

Async<Result<void>> LocalManifestStore::write_entries(const std::vector<std::string>& entries) {
  const uint64_t cost = ManifestFile::cost(total_bytes(entries), entries.size());
  if (cost > file_->room()) CO_TRY_VOID(co_await roll(cost));
  auto written = co_await file_->write(entries);
  if (!written) co_return poison(written.error());
  if (spare_bytes_ < file_->file_bytes() && ++edits_without_spare_ >= kSpareRetryGroups) {
    co_await extend_spare(file_->file_bytes());
  }
  co_return Result<void>();
}

std::unexpected<Error> LocalManifestStore::poison(const Error& cause) {
  log_error("store", "the manifest is poisoned, nothing more is changed: {}", cause.to_string());
  failure_ = Error(Errc::unavailable, fmt::format("the manifest has failed: {}", cause.message))
                 .outcome(Applied::maybe_applied);
  failure_->os_error = cause.os_error;
  if (failure_listener_) failure_listener_(*failure_);
  return std::unexpected(*failure_);
}

Async<Result<void>> LocalManifestStore::close() {
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  if (closed_) co_return Result<void>();
  closed_ = true;
  if (file_ == nullptr) co_return Result<void>();
  co_return co_await file_->close();
}

}  // namespace cellar::engine
