// Dump: the output of an inspector about a file, from the first byte to the last.
//
// A section is a range of bytes of the file with a title; the fields after it are its parts, each
// with its bytes and their meaning. A problem is damage. Three implementations: text, one JSON
// object per line, and silence for a verification.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "engine/inspect/entry_filter.h"
#include "engine/inspect/table_indexes.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class Dump {
 public:
  virtual ~Dump() = default;
  virtual void begin_file(Bytes name, Bytes kind) = 0;
  virtual void section(uint64_t offset, uint64_t size, Bytes title) = 0;
  // `offset` is in the file, or in the unpacked contents if the section's title says so.
  virtual void field(uint64_t offset, Bytes bytes, Bytes label) = 0;
  // An entry of a block or a record: what an EntryFilter selects. See only_entries().
  virtual void entry(uint64_t offset, Bytes bytes, Bytes label) { field(offset, bytes, label); }
  void problem(Bytes sentence) {
    ++problems_;
    show_problem(sentence);
  }
  // Information that is not damage; also printed by verifications.
  virtual void note(Bytes sentence) = 0;
  size_t problems() const { return problems_; }

 protected:
  virtual void show_problem(Bytes sentence) = 0;

 private:
  size_t problems_ = 0;
};

enum class DumpForm : uint8_t {
  text,
  json,
  problems_only,  // text
  problems_json,
};
std::unique_ptr<Dump> make_dump(DumpForm form, std::ostream& out);

// A dump into `to`, which must outlive it, without sections and fields other than entries; a
// section is printed with its first entry. Problems are counted here and shown there.
std::unique_ptr<Dump> only_entries(Dump& to);

struct DumpOptions {
  bool entries = false;  // prints every entry of every block or record with its bytes
  EntryFilter filter = {};
  // Definitions for tables on disk, whose entries of indexes are then told in words and compared
  // with their cells; null: none is known.
  const IndexesByTable* indexes = nullptr;
};

// "cell \"row\" f:\"q\" at 1000 stamp 5 = \"value\"", or a note that the key is malformed.
std::string describe_entry(Bytes key, Bytes value);

}  // namespace cellar::engine
