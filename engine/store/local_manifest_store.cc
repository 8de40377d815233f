#include "engine/store/local_manifest_store.h"

#include <algorithm>
#include <set>

#include "engine/record/file_header.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

std::string_view kind_name(Subject::Kind kind) {
  switch (kind) {
    case Subject::Kind::node:
      return "node";
    case Subject::Kind::table:
      return "table";
    case Subject::Kind::tablet:
      return "tablet";
    case Subject::Kind::clock:
      return "clock";
    case Subject::Kind::audit:
      return "audit trail";
  }
  return "subject";
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

Async<Result<void>> LocalManifestStore::start() {
  const std::string directory(kManifestDirectory);
  const std::string root;
  CO_TRY_VOID(co_await fs_.create_dir(directory));
  CO_TRY_VOID(co_await fs_.sync_dir(root));
  CO_TRY(const auto entries, co_await fs_.list(directory));
  std::vector<uint64_t> numbers;
  bool has_current = false;
  for (const DirEntry& entry : entries) {
    if (entry.name == "CURRENT") has_current = true;
    if (const auto number = parse_manifest_name(entry.name)) numbers.push_back(*number);
  }
  for (const uint64_t number : numbers) greatest_number_ = std::max(greatest_number_, number);
  CO_TRY_VOID(co_await load_current(std::move(numbers), has_current));
  CO_TRY_VOID(co_await roll(0));
  co_return Result<void>();
}

Async<Result<void>> LocalManifestStore::load_current(std::vector<uint64_t> numbers,
                                                     bool has_current) {
  if (has_current) {
    const std::string path(kCurrentPath);
    CO_TRY(const std::string content, co_await read_file(fs_, path));
    CO_TRY(const uint64_t number, decode_current(content));
    CO_TRY(LoadedManifest loaded, co_await load_manifest(fs_, number));
    if (!loaded.state.complete) {
      co_return fail(Errc::data_loss, "{} has no whole snapshot", manifest_path(number));
    }
    state_ = std::move(loaded.state);
    torn_tail_bytes_ = loaded.torn_tail_bytes;
    if (torn_tail_bytes_ > 0) {
      log_info("store", "discarded {} bytes of an edit that was never answered, file={}",
               torn_tail_bytes_, manifest_path(number));
    }
    co_return Result<void>();
  }
  // Without CURRENT there may only be what first starts left that were cut short: empty snapshots.
  for (const uint64_t number : numbers) {
    CO_TRY(const LoadedManifest loaded, co_await load_manifest(fs_, number));
    if (loaded.edits > 0 || !loaded.state.subjects.empty()) {
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
  const uint64_t bytes =
      align_up(kFileHeaderBlockBytes + snapshot + std::max(edits, 2 * extra_bytes));
  const uint64_t number = greatest_number_ + 1;
  auto created = co_await ManifestFile::create(fs_, number, bytes);
  if (!created) co_return std::unexpected(std::move(created).error());
  greatest_number_ = number;
  auto written = co_await (*created)->write(entries);
  if (!written) {
    // Nothing refers to the new file yet; the old one is still true and intact.
    auto closed = co_await (*created)->close();
    auto removed = co_await fs_.remove(manifest_path(number));
    (void)closed, (void)removed;
    co_return written;
  }
  const std::string current(kCurrentPath);
  auto switched = co_await replace_file(fs_, current, encode_current(number));
  if (!switched) {
    // The rename may or may not survive, so neither file can be written to any more.
    auto closed = co_await (*created)->close();
    (void)closed;
    co_return poison(switched.error());
  }
  if (file_ != nullptr) {
    auto closed = co_await file_->close();
    if (!closed) log_warn("store", "{}", closed.error().to_string());
  }
  file_ = *std::move(created);
  co_await remove_litter();
  co_return Result<void>();
}

Async<void> LocalManifestStore::remove_litter() {
  const std::string directory(kManifestDirectory);
  const std::string kept = manifest_path(file_->number());
  auto entries = co_await fs_.list(directory);
  if (!entries) co_return;  // the next start tries again
  for (const DirEntry& entry : *entries) {
    const std::string path = directory + "/" + entry.name;
    if (path == kept || path == kCurrentPath) continue;
    auto removed = co_await fs_.remove(path);
    if (!removed) log_warn("store", "{}", removed.error().to_string());
  }
}

Async<Result<std::map<Subject, SubjectState>>> LocalManifestStore::load() {
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  co_return state_.subjects;
}

Result<void> LocalManifestStore::check(const std::vector<SubjectEdit>& edits) const {
  if (failure_) {
    Error refused = *failure_;
    refused.applied = Applied::not_applied;
    return std::unexpected(std::move(refused));
  }
  if (closed_) return fail(Errc::unavailable, "the manifest is closed");
  std::set<Subject> seen;
  for (const SubjectEdit& edit : edits) {
    if (!seen.insert(edit.subject).second) {
      return fail(Errc::invalid_argument, "an edit names {} {} twice", kind_name(edit.subject.kind),
                  edit.subject.id);
    }
    const uint64_t version = state_.version_of(edit.subject);
    if (version != edit.expected_version) {
      return fail(Errc::aborted, "{} {} has version {}, expected was {}",
                  kind_name(edit.subject.kind), edit.subject.id, version, edit.expected_version);
    }
  }
  return {};
}

Async<Result<std::vector<uint64_t>>> LocalManifestStore::commit(std::vector<SubjectEdit> edits) {
  Pending mine{.edits = std::move(edits), .outcome = {}, .done = false};
  queue_.push_back(&mine);
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  // The lock is given in order of arrival, so this edit is done, or the first that is not.
  if (!mine.done) co_await write_group();
  co_return std::move(mine.outcome);
}

Async<void> LocalManifestStore::write_group() {
  std::vector<Pending*> group;
  std::vector<std::string> entries;
  std::set<Subject> named;
  uint64_t next_version = state_.next_version;
  size_t bytes = 0;
  while (!queue_.empty() && bytes < kGroupBytes) {
    Pending& next = *queue_.front();
    const auto is_named = [&](const SubjectEdit& edit) { return named.contains(edit.subject); };
    if (std::any_of(next.edits.begin(), next.edits.end(), is_named)) break;
    queue_.pop_front();
    next.done = true;
    if (auto possible = check(next.edits); !possible) {
      next.outcome = std::unexpected(std::move(possible).error());
      continue;
    }
    std::vector<uint64_t> versions;
    uint64_t version = next_version;
    for (const SubjectEdit& edit : next.edits) {
      versions.push_back(edit.remove ? kAbsent : version++);
    }
    std::string entry = encode_edit(next.edits, versions, version);
    if (entry.size() > kMaxEditBytes) {
      next.outcome = fail(Errc::invalid_argument, "an edit of {} bytes is longer than {}",
                          entry.size(), kMaxEditBytes);
      continue;
    }
    next_version = version;
    next.outcome = std::move(versions);
    for (const SubjectEdit& edit : next.edits) named.insert(edit.subject);
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
  co_return Result<void>();
}

std::unexpected<Error> LocalManifestStore::poison(const Error& cause) {
  log_error("store", "the manifest is poisoned, nothing more is changed: {}", cause.to_string());
  failure_ = Error(Errc::unavailable, fmt::format("the manifest has failed: {}", cause.message))
                 .outcome(Applied::maybe_applied);
  failure_->os_error = cause.os_error;
  return std::unexpected(*failure_);
}

Async<Result<void>> LocalManifestStore::close() {
  const AsyncMutex::Lock lock = co_await mutex_.lock();
  if (closed_) co_return Result<void>();
  closed_ = true;
  co_return co_await file_->close();
}

}  // namespace cellar::engine
