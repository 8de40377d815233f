#include "net/cli/transfer/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace cellar::cli {

namespace {

constexpr mode_t kMode = 0644;

// A new name is durable after a sync of its directory.
void sync_directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)::fsync(descriptor);
  ::close(descriptor);
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Result<void> replace_whole_file(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    return fail(Errc::unavailable, "cannot write {}: {}", temporary, std::strerror(errno));
  }
  const bool written = write_all(descriptor, content) && ::fdatasync(descriptor) == 0;
  ::close(descriptor);
  if (!written || std::rename(temporary.c_str(), path.c_str()) != 0) {
    return fail(Errc::unavailable, "cannot write {}: {}", path, std::strerror(errno));
  }
  sync_directory_of(path);
  return {};
}

std::string behind_links(std::string path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as in Linux
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = (fs::path(path).parent_path() / target).string();
  }
  return path;
}

Result<OutputFile> OutputFile::open_in_place(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor >= 0) return OutputFile(descriptor, path, Kind::in_place, 0);
  return fail(errno == EISDIR ? Errc::failed_precondition : Errc::unavailable,
              "cannot write {}: {}", path, std::strerror(errno));
}

Result<OutputFile> OutputFile::open(const std::string& path, uint64_t keep_bytes) {
  std::error_code unknown;
  const std::filesystem::file_status found = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    return open_in_place(path);
  }
  const std::string part = part_of(path);
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor < 0) {
    return fail(Errc::unavailable, "cannot write {}: {}", part, std::strerror(errno));
  }
  OutputFile file(descriptor, path, Kind::renamed, keep_bytes);
  const auto end = static_cast<off_t>(keep_bytes);
  if (::ftruncate(descriptor, end) != 0 || ::lseek(descriptor, end, SEEK_SET) != end) {
    return file.failed("cut");
  }
  return file;
}

OutputFile OutputFile::of_descriptor(int descriptor) {
  return {descriptor, "standard output", Kind::borrowed, 0};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      kind_(other.kind_),
      bytes_(other.bytes_),
      unsynced_(other.unsynced_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && kind_ != Kind::borrowed) ::close(descriptor_);
}

std::unexpected<Error> OutputFile::failed(std::string_view what) const {
  return fail(Errc::resource_exhausted, "cannot {} {}: {}", what,
              kind_ == Kind::renamed ? part_of(path_) : path_, std::strerror(errno));
}

Result<void> OutputFile::write(std::string_view bytes) {
  if (!write_all(descriptor_, bytes)) return failed("write");
  bytes_ += bytes.size();
  unsynced_ += bytes.size();
  if (kind_ != Kind::renamed || unsynced_ < kSyncBytes) return {};
  unsynced_ = 0;
  if (::fdatasync(descriptor_) != 0) return failed("sync");
  return {};
}

Result<void> OutputFile::finish() {
  if (kind_ == Kind::borrowed) return {};
  if (kind_ == Kind::in_place) {
    // EINVAL: nothing to sync, as in a FIFO.
    if (::fdatasync(descriptor_) != 0 && errno != EINVAL) return failed("sync");
    return {};
  }
  if (::fdatasync(descriptor_) != 0) return failed("sync");
  if (std::rename(part_of(path_).c_str(), path_.c_str()) != 0) return failed("rename");
  sync_directory_of(path_);
  return {};
}

}  // namespace cellar::cli
