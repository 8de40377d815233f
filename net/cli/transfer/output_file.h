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

// A file written as `path`.part and renamed when complete. It is synced every kSyncBytes, which
// bounds the loss if the machine fails. "-" is standard output.
class OutputFile {
 public:
  static constexpr uint64_t kSyncBytes = 16u << 20;

  static std::string part_of(const std::string& path) { return path + ".part"; }
  // Starts a new file, or continues after the first `keep_bytes` bytes of an existing one.
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
  OutputFile(int descriptor, std::string path, uint64_t bytes)
      : descriptor_(descriptor), path_(std::move(path)), bytes_(bytes) {}
  std::unexpected<Error> failed(std::string_view what) const;

  int descriptor_;
  std::string path_;  // empty: a descriptor not owned
  uint64_t bytes_ = 0;
  uint64_t unsynced_ = 0;
};

}  // namespace cellar::cli
