// Output files of the command line: complete as soon as they have their final name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "io/base/result.h"

namespace cellar::cli {

// Writes `path`.tmp, syncs it and renames it to `path`. UNAVAILABLE with the reason.
Result<void> replace_whole_file(const std::string& path, std::string_view content);

// `path`, or what it leads to if it is a symbolic link, which may not exist yet.
std::string behind_links(std::string path);

// A file written as `path`.part and renamed when complete. It is synced every kSyncBytes, which
// bounds the loss if the machine fails. A device, FIFO or socket is written in place instead: no
// other name may take its place. "-" is standard output.
class OutputFile {
 public:
  static constexpr uint64_t kSyncBytes = 16u << 20;

  static std::string part_of(const std::string& path) { return path + ".part"; }
  // Starts a new file, or continues after the first `keep_bytes` bytes of an existing one. `path`
  // is no symbolic link. FAILED_PRECONDITION: it is a directory.
  static Result<OutputFile> open(const std::string& path, uint64_t keep_bytes);
  static OutputFile of_descriptor(int descriptor);  // not owned

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Result<void> write(std::string_view bytes);
  // Syncs and renames. Afterwards the file is complete and durable.
  Result<void> finish();
  uint64_t bytes() const { return bytes_; }

 private:
  enum class Kind : uint8_t { renamed, in_place, borrowed };
  OutputFile(int descriptor, std::string path, Kind kind, uint64_t bytes)
      : descriptor_(descriptor), path_(std::move(path)), kind_(kind), bytes_(bytes) {}
  static Result<OutputFile> open_in_place(const std::string& path);
  std::unexpected<Error> failed(std::string_view what) const;

  int descriptor_;
  std::string path_;
  Kind kind_;
  uint64_t bytes_ = 0;
  uint64_t unsynced_ = 0;
};

}  // namespace cellar::cli
