// DurabilityLedger: which bytes and names below one directory a power cut could take, by the rules
// of POSIX and of io/disk/file.h. It knows no trace: a caller tells it of every operation.
//
//   bytes   durable after a successful write with dsync, or a sync of the file that began after the
//           write was over. A changed size (truncate, fallocate) counts as bytes.
//   names   durable after a successful sync of the directory that began after the change was over.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cellar::test {

// Device and number of an inode.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

class DurabilityLedger {
 public:
  static constexpr uint64_t kWholeFile = UINT64_MAX;  // a size

  // A text that is looked for in every write. See missing_of().
  void look_for(std::string text) { texts_.push_back(std::move(text)); }

  // An operation between its begin and its end is in flight. `end` with a negative result: it
  // failed and changed nothing that can be relied on.
  uint64_t begin_write(FileId file, std::string path, uint64_t offset, uint64_t size, bool dsync,
                       std::string_view data = {});
  uint64_t begin_sync(FileId file_or_directory);
  void end(uint64_t operation, int64_t result);
  void cancel(uint64_t operation);  // it did not begin after all

  // A finished change of a name in a directory. `path` is the path of the name.
  void name_changed(FileId directory, std::string path, std::string change);
  // Its bytes are no longer counted.
  void removed(FileId directory, const std::string& path);
  // Also moves the paths of what lies below `from`; a file that was at `to` is removed. A file with
  // a temporary name, which ends in kTemporary, is one to be overwritten: its texts do not count.
  static constexpr std::string_view kTemporary = ".tmp";
  void renamed(FileId from_directory, FileId to_directory, const std::string& from,
               const std::string& to);

  // One sentence each for what a power cut could take; empty: nothing.
  std::vector<std::string> pending() const;
  // Why `text` could be lost; empty if one write of it, and the path of that file, are durable.
  std::string missing_of(std::string_view text) const;

 private:
  struct Piece {
    std::string path;
    uint64_t offset = 0;
    uint64_t end = 0;
    uint64_t finished = 0;  // the step; 0: in flight or failed
    bool dsync = false;
    bool durable = false;
    std::map<std::string, uint64_t> texts;  // and where they begin in the file
  };
  struct NameChange {
    std::string path;
    std::string change;
    uint64_t finished = 0;
  };
  struct Operation {
    FileId file;
    uint64_t began = 0;
    uint64_t piece = 0;  // 0: a sync
  };

  void forget(const std::string& path);
  void overwrite(const Operation& operation, const Piece& by);
  void end_write(const Operation& operation, int64_t result);
  void end_sync(const Operation& operation);
  std::string lost_name_above(std::string_view path) const;

  uint64_t step_ = 0;  // rises with every event
  std::vector<std::string> texts_;
  std::map<uint64_t, Operation> operations_;
  std::map<FileId, std::map<uint64_t, Piece>> pieces_;  // durable ones only if they have a text
  std::map<FileId, std::vector<NameChange>> names_;
};

}  // namespace cellar::test
