#include "tests/support/trace/durability_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>

#include "io/base/check.h"

namespace cellar::test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxDataBytes = 8 << 20;  // of one operation that are searched for texts

int fd_of(uint64_t argument) { return static_cast<int>(argument); }

}  // namespace

void DurabilityWatch::look_for(const std::string& text, bool stays) {
  texts_.push_back(text);
  if (stays) that_stay_.insert(text);
  ledger_.look_for(text);
}

void DurabilityWatch::started(pid_t process) {
  process_ = process;
  rings_.set_process(process);
}

bool DurabilityWatch::within(const std::string& path) const {
  return path == root_ || path.starts_with(root_ + "/");
}

std::string DurabilityWatch::path_of(int fd) const {
  const std::string link = fmt::format("/proc/{}/fd/{}", process_, fd);
  std::error_code failed;
  std::string path = fs::read_symlink(link, failed).string();
  if (failed || !within(path) || path.ends_with(" (deleted)")) return {};
  return path;
}

FileId DurabilityWatch::id_of(int fd) const {
  struct stat facts = {};
  const std::string link = fmt::format("/proc/{}/fd/{}", process_, fd);
  if (::stat(link.c_str(), &facts) != 0) return {};
  return {facts.st_dev, facts.st_ino};
}

std::string DurabilityWatch::text_at(uint64_t address) const {
  std::string text = read_memory(process_, address, PATH_MAX);
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

DurabilityWatch::Place DurabilityWatch::place(int directory, uint64_t name_address) const {
  const std::string base = directory == AT_FDCWD
                               ? fmt::format("/proc/{}/cwd", process_)
                               : fmt::format("/proc/{}/fd/{}", process_, directory);
  std::error_code failed;
  // An absolute name replaces the base.
  const fs::path path = (fs::read_symlink(base, failed) / text_at(name_address)).lexically_normal();
  Place result;
  result.path = path.string();
  struct stat facts = {};
  if (::stat(path.parent_path().c_str(), &facts) == 0)
    result.directory = {facts.st_dev, facts.st_ino};
  result.exists = ::lstat(path.c_str(), &facts) == 0;
  return result;
}

// The bytes of a read or write: of its buffer, its parts or its message.
std::string DurabilityWatch::gather(const SystemCall& call, int64_t limit) const {
  const auto at_most = static_cast<uint64_t>(std::max<int64_t>(limit, 0));
  uint64_t parts_address = call.args[1];
  uint64_t parts = call.args[2];
  switch (call.number) {
    case SYS_read:
    case SYS_recvfrom:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
      return read_memory(process_, call.args[1], std::min(call.args[2], at_most));
    case SYS_recvmsg:
    case SYS_sendmsg: {
      msghdr message = {};
      const std::string bytes = read_memory(process_, call.args[1], sizeof message);
      if (bytes.size() != sizeof message) return {};
      std::memcpy(&message, bytes.data(), sizeof message);
      parts_address = reinterpret_cast<uint64_t>(message.msg_iov);
      parts = message.msg_iovlen;
      break;
    }
    default:
      break;
  }
  std::string data;
  for (uint64_t i = 0; i < std::min<uint64_t>(parts, IOV_MAX) && data.size() < at_most; ++i) {
    iovec part = {};
    const std::string bytes = read_memory(process_, parts_address + i * sizeof part, sizeof part);
    if (bytes.size() != sizeof part) break;
    std::memcpy(&part, bytes.data(), sizeof part);
    data += read_memory(process_, reinterpret_cast<uint64_t>(part.iov_base),
                        std::min<uint64_t>(part.iov_len, at_most - data.size()));
  }
  return data;
}

uint64_t DurabilityWatch::begin_write(int fd, uint64_t offset, uint64_t size, bool dsync,
                                      const std::string& data) {
  return ledger_.begin_write(id_of(fd), path_of(fd), offset, size, dsync, data);
}

void DurabilityWatch::begin(const SystemCall& call, uint64_t operation) {
  operations_of_calls_[call.thread] = operation;
}

void DurabilityWatch::entered(const SystemCall& call) {
  switch (call.number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_fsync:
    case SYS_fdatasync:
      return enter_write(call);
    case SYS_sendto:
    case SYS_sendmsg:
      return sends(fd_of(call.args[0]));
    case SYS_io_uring_enter:
      return enter_ring(call);
    case SYS_munmap:
      end_completed();
      return rings_.unmapped(call.args[0]);
    default:
      enter_names(call);
      enter_unknown(call);
  }
}

void DurabilityWatch::enter_write(const SystemCall& call) {
  const int fd = fd_of(call.args[0]);
  end_completed();
  if (call.number == SYS_write && fd == kMarkFd) {
    if (on_mark) on_mark(gather(call, PATH_MAX));
    return;
  }
  if (call.number == SYS_write || call.number == SYS_writev) sends(fd);
  // A sync outside of `root_` may be that of its parent, and any other changes nothing.
  if (call.number == SYS_fsync || call.number == SYS_fdatasync)
    return begin(call, ledger_.begin_sync(id_of(fd)));
  if (path_of(fd).empty()) return;
  constexpr uint64_t kAll = DurabilityLedger::kWholeFile;
  if (call.number == SYS_ftruncate || call.number == SYS_fallocate)
    return begin(call, begin_write(fd, 0, kAll, false, {}));
  const std::string data = gather(call, kMaxDataBytes);
  // The other calls write at the position of the descriptor, which is not known here.
  const bool positioned = call.number != SYS_write && call.number != SYS_writev;
  const bool dsync = call.number == SYS_pwritev2 && (call.args[5] & (RWF_DSYNC | RWF_SYNC)) != 0;
  begin(call, begin_write(fd, positioned ? call.args[3] : 0, positioned ? data.size() : kAll, dsync,
                          data));
}

void DurabilityWatch::enter_names(const SystemCall& call) {
  const auto& a = call.args;
  std::vector<Place> places;
  switch (call.number) {
    case SYS_openat:
      if ((a[2] & O_CREAT) != 0) places.push_back(place(fd_of(a[0]), a[1]));
      break;
    case SYS_open:
      if ((a[1] & O_CREAT) != 0) places.push_back(place(AT_FDCWD, a[0]));
      break;
    case SYS_mkdirat:
    case SYS_unlinkat:
      places.push_back(place(fd_of(a[0]), a[1]));
      break;
    case SYS_mkdir:
    case SYS_unlink:
    case SYS_rmdir:
      places.push_back(place(AT_FDCWD, a[0]));
      break;
    case SYS_rename:
      places = {place(AT_FDCWD, a[0]), place(AT_FDCWD, a[1])};
      break;
    case SYS_renameat:
    case SYS_renameat2:
      places = {place(fd_of(a[0]), a[1]), place(fd_of(a[2]), a[3])};
      break;
    default:
      break;
  }
  const bool judged =
      std::any_of(places.begin(), places.end(), [&](const Place& p) { return within(p.path); });
  if (judged) places_[call.thread] = std::move(places);
}

void DurabilityWatch::leave_names(const SystemCall& call) {
  const auto found = places_.find(call.thread);
  if (found == places_.end()) return;
  const std::vector<Place> places = std::move(found->second);
  places_.erase(found);
  const Place& first = places[0];
  switch (call.number) {
    case SYS_openat:
    case SYS_open:
    case SYS_mkdirat:
    case SYS_mkdir:
      if (first.exists) return;
      ledger_.name_changed(first.directory, first.path, "creation");
      break;
    case SYS_unlinkat:
    case SYS_unlink:
    case SYS_rmdir:
      ledger_.removed(first.directory, first.path);
      check_those_that_stay(first.path);
      break;
    default:
      ledger_.renamed(first.directory, places[1].directory, first.path, places[1].path);
      check_those_that_stay(first.path);
  }
  ++operations_;
}

void DurabilityWatch::check_those_that_stay(const std::string& removed) {
  for (const std::string& text : durable_at_answer_) {
    const std::string missing = ledger_.missing_of(text);
    if (!missing.empty())
      taken_.push_back(fmt::format("without {}, {} could be lost: {}", removed, text, missing));
  }
}

void DurabilityWatch::enter_unknown(const SystemCall& call) {
  const auto& a = call.args;
  const auto note = [this](const std::string& path, const char* what) {
    if (within(path)) unknown_.insert(path + ": " + what);
  };
  switch (call.number) {
    case SYS_mmap:
      if ((a[2] & PROT_WRITE) != 0 && (a[3] & MAP_SHARED) != 0 && fd_of(a[4]) >= 0)
        note(path_of(fd_of(a[4])), "a shared mapping that is written");
      break;
    case SYS_copy_file_range:
    case SYS_splice:
      note(path_of(fd_of(a[2])), "a write by copying");
      break;
    case SYS_sendfile:
      note(path_of(fd_of(a[0])), "a write by copying");
      break;
    case SYS_openat2:
      note(place(fd_of(a[0]), a[1]).path, "openat2");
      break;
    case SYS_creat:
    case SYS_truncate:
      note(place(AT_FDCWD, a[0]).path, "creat or truncate");
      break;
    case SYS_linkat:
      note(place(fd_of(a[2]), a[3]).path, "a link");
      break;
    case SYS_symlinkat:
      note(place(fd_of(a[1]), a[2]).path, "a link");
      break;
    default:
      break;
  }
}

void DurabilityWatch::left(const SystemCall& call, int64_t result) {
  const auto operation = operations_of_calls_.find(call.thread);
  if (operation != operations_of_calls_.end()) {
    ledger_.end(operation->second, result);
    operations_of_calls_.erase(operation);
    ++operations_;
    return;
  }
  if (call.number == SYS_io_uring_enter) return leave_ring(call, result);
  if (result < 0) {
    places_.erase(call.thread);
    return;
  }
  switch (call.number) {
    case SYS_io_uring_setup:
      return rings_.set_up(fd_of(static_cast<uint64_t>(result)), call.args[1]);
    case SYS_mmap:
      return rings_.mapped(fd_of(call.args[4]), static_cast<uint64_t>(result), call.args[5]);
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
      if (is_socket(fd_of(call.args[0]))) received(fd_of(call.args[0]), gather(call, result));
      return;
    default:
      leave_names(call);
  }
}

void DurabilityWatch::enter_ring(const SystemCall& call) {
  end_completed();
  const int ring = fd_of(call.args[0]);
  auto submitted = rings_.submissions(ring, call.args[1]);
  for (const RingView::Submission& entry : submitted) {
    const std::pair key(entry.ring, entry.user_data);
    const bool judged = entry.fd >= 0 && !path_of(entry.fd).empty();
    if (entry.opcode == IORING_OP_FSYNC && judged) {
      in_rings_[key] = ledger_.begin_sync(id_of(entry.fd));
    } else if (entry.opcode == IORING_OP_WRITE && judged) {
      const bool dsync = (entry.rw_flags & (RWF_DSYNC | RWF_SYNC)) != 0;
      const auto data = read_memory(process_, entry.address, std::min(entry.size, kMaxDataBytes));
      in_rings_[key] = begin_write(entry.fd, entry.offset, entry.size, dsync, data);
    } else if (entry.opcode != IORING_OP_READ && entry.opcode != IORING_OP_NOP && judged) {
      unknown_.insert(fmt::format("operation {} of a ring", entry.opcode));
    }
  }
  entries_[call.thread] = std::move(submitted);
}

void DurabilityWatch::leave_ring(const SystemCall& call, int64_t result) {
  const auto entries = std::move(entries_[call.thread]);
  // What the kernel did not take is submitted again by a later call.
  for (auto i = static_cast<size_t>(std::max<int64_t>(result, 0)); i < entries.size(); ++i) {
    const auto left = in_rings_.find({entries[i].ring, entries[i].user_data});
    if (left == in_rings_.end()) continue;
    ledger_.cancel(left->second);
    in_rings_.erase(left);
  }
  end_completed();
}

void DurabilityWatch::end_completed() {
  for (const RingView::Completion& completion : rings_.completions()) {
    const auto found = in_rings_.find({completion.ring, completion.user_data});
    if (found == in_rings_.end()) continue;
    ledger_.end(found->second, completion.result);
    in_rings_.erase(found);
    ++operations_;
  }
  if (!rings_.lost().empty()) unknown_.insert(rings_.lost());
}

bool DurabilityWatch::is_socket(int fd) const {
  std::error_code failed;
  const auto link = fs::read_symlink(fmt::format("/proc/{}/fd/{}", process_, fd), failed);
  return !failed && link.string().starts_with("socket:");
}

void DurabilityWatch::received(int fd, const std::string& data) {
  for (const std::string& text : texts_) {
    if (data.find(text) != std::string::npos) asked_[fd].push_back(text);
  }
}

void DurabilityWatch::sends(int fd) {
  const auto found = asked_.find(fd);
  if (found == asked_.end()) return;
  end_completed();
  for (const std::string& text : found->second) {
    answers_.push_back({text, ledger_.missing_of(text)});
    if (answers_.back().missing.empty() && that_stay_.contains(text))
      durable_at_answer_.insert(text);
  }
  asked_.erase(found);
}

}  // namespace cellar::test
