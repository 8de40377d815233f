#include "net/server/policy/audit_log.h"

#include <algorithm>
#include <vector>

#include "io/base/log.h"

namespace cellar::server {
namespace {

constexpr std::string_view kNamePrefix = "audit-";
constexpr std::string_view kNameSuffix = ".jsonl";
constexpr uint64_t kTailBytes = 1u << 20;  // far more than one line

std::string name_of(uint64_t first_sequence) {
  return fmt::format("{}{:020}{}", kNamePrefix, first_sequence, kNameSuffix);
}
std::string path_of(const std::string& name) {
  return fmt::format("{}/{}", AuditLog::kDirectory, name);
}

// Sorted by line number.
Async<Result<std::vector<std::string>>> log_files(FileSystem& fs) {
  CO_TRY(const auto entries, co_await fs.list(std::string(AuditLog::kDirectory)));
  std::vector<std::string> names;
  for (const DirEntry& entry : entries) {
    const bool ours = entry.name.starts_with(kNamePrefix) && entry.name.ends_with(kNameSuffix);
    if (ours && !entry.is_dir) names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  co_return names;
}

security::AuditEvent event_of(std::string_view name, uint64_t count = 0) {
  security::AuditEvent event;
  event.event = name;
  event.count = count;
  return event;
}

}  // namespace

Async<Result<std::shared_ptr<AuditLog>>> AuditLog::open(ShardExecutor executor, Timers& timers,
                                                        FileSystem& fs, const Clock& wall,
                                                        AuditOptions options) {
  const std::shared_ptr<AuditLog> log(new AuditLog(executor, timers, fs, wall, options));
  CO_TRY_VOID(co_await log->go_on());
  log->record(event_of("start"));
  spawn(executor, log->run(log));
  co_return log;
}

Async<Result<void>> AuditLog::go_on() {
  CO_TRY_VOID(co_await fs_.create_dir(std::string(kDirectory)));
  CO_TRY_VOID(co_await fs_.sync_dir(""));
  CO_TRY(const auto names, co_await log_files(fs_));
  if (names.empty()) co_return Result<void>();
  co_return co_await continue_file(names.back());
}

Async<Result<void>> AuditLog::continue_file(std::string name) {
  const OpenOptions options{OpenOptions::Mode::read_write, false};
  CO_TRY(file_, co_await fs_.open(path_of(name), options));
  CO_TRY(offset_, co_await file_->size());
  const uint64_t from = offset_ > kTailBytes ? offset_ - kTailBytes : 0;
  std::string text(offset_ - from, '\0');
  const std::span<std::byte> into(reinterpret_cast<std::byte*>(text.data()), text.size());
  CO_TRY(const size_t got, co_await read_at(*file_, from, into, IoClass::read));
  text.resize(got);
  const security::ChainTail tail = security::tail_of(text);
  end_ = tail.end;
  // A file is created before its first line: its name gives the number, and the previous file the
  // hash. Only the very first file has neither.
  if (end_.sequence == 0 && name != name_of(1)) {
    CO_TRY(const auto names, co_await log_files(fs_));
    if (names.size() < 2) {
      co_return fail(Errc::data_loss, "security log '{}' holds no whole line to go on from", name);
    }
    CO_TRY(const std::string before, co_await read_file(fs_, path_of(names[names.size() - 2])));
    end_ = security::tail_of(before).end;
  }
  if (tail.torn_bytes > 0 || tail.lacks_newline) {
    std::string batch = "\n";
    if (tail.torn_bytes > 0) line(batch, event_of("resumed", tail.torn_bytes));
    const auto bytes = as_byte_span(batch);
    CO_TRY_VOID(co_await write_at(*file_, offset_, bytes, IoClass::log));
    offset_ += batch.size();
  }
  co_return Result<void>();
}

void AuditLog::record(security::AuditEvent event) {
  if (closing_) return;
  if (queue_.size() >= kMaxQueued) {
    ++dropped_;
    return;
  }
  queue_.push_back(std::move(event));
  wake_.notify_all();
}

void AuditLog::line(std::string& batch, const security::AuditEvent& event) {
  batch += security::append_line(end_, wall_.wall_us(), event);
}

std::string AuditLog::take_batch() {
  std::string batch;
  while (!queue_.empty()) {
    line(batch, queue_.front());
    queue_.pop_front();
  }
  if (dropped_ != dropped_told_) {
    line(batch, event_of("dropped", dropped_ - dropped_told_));
    dropped_told_ = dropped_;
  }
  return batch;
}

Async<Result<void>> AuditLog::begin_file() {
  if (file_) CO_TRY_VOID(co_await file_->close());
  file_.reset();
  const OpenOptions options{OpenOptions::Mode::create_new, false};
  const std::string path = path_of(name_of(end_.sequence + 1));
  CO_TRY(file_, co_await fs_.open(path, options));
  offset_ = 0;
  name_is_durable_ = false;
  co_return Result<void>();
}

Async<Result<void>> AuditLog::make_name_durable() {
  CO_TRY_VOID(co_await fs_.sync_dir(std::string(kDirectory)));
  name_is_durable_ = true;
  co_await remove_old();
  co_return Result<void>();
}

Async<void> AuditLog::remove_old() {
  const auto names = co_await log_files(fs_);
  if (!names) co_return;
  for (size_t i = 0; i + options_.files < names->size(); ++i) {
    const std::string path = path_of((*names)[i]);
    const auto removed = co_await fs_.remove(path);
    if (!removed) log_warn("server", "old security log stays file={}", path);
  }
}

Async<Result<void>> AuditLog::write_batch() {
  if (batch_.empty()) {
    if (file_ == nullptr || offset_ >= options_.file_bytes) CO_TRY_VOID(co_await begin_file());
    batch_ = take_batch();
  }
  if (!name_is_durable_) CO_TRY_VOID(co_await make_name_durable());
  CO_TRY_VOID(co_await write_at(*file_, offset_, as_byte_span(batch_), IoClass::log));
  CO_TRY_VOID(co_await sync(*file_, IoClass::log));
  offset_ += batch_.size();
  batch_.clear();
  co_return Result<void>();
}

Async<void> AuditLog::run(std::shared_ptr<AuditLog> self) {
  while (true) {
    while (queue_.empty() && batch_.empty() && !closing_) co_await wake_.wait();
    if (queue_.empty() && batch_.empty()) break;
    const Result<void> written = co_await write_batch();
    if (written) continue;
    log_error("server", "security log failed error=\"{}\"", written.error().message);
    if (closing_) break;
    co_await sleep_us(timers_, kRetryUs);
  }
  if (file_) (void)co_await file_->close();
  file_.reset();
  ended_.set();
}

Async<void> AuditLog::close() {
  record(event_of("stop"));
  closing_ = true;
  wake_.notify_all();
  co_await ended_.wait();
}

}  // namespace cellar::server
