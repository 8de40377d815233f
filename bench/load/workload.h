// Workloads: the mix of operations of a run, its keys and its values. Draws are deterministic from
// a seed, a stream per connection.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/distribution.h"
#include "bench/load/values.h"
#include "io/base/bytes.h"
#include "io/base/random.h"
#include "io/base/result.h"

namespace cellar::bench {

// modify: a read of the row, then an update of it, measured as one operation.
enum class Operation : uint8_t { read, update, insert, scan, modify, remove };
inline constexpr size_t kOperations = 6;
std::string_view name_of(Operation operation);
constexpr bool only_reads(Operation o) { return o == Operation::read || o == Operation::scan; }
// Whether its answer says if a row was found.
constexpr bool reads(Operation o) { return only_reads(o) || o == Operation::modify; }

enum class Distribution { uniform, zipf, latest, hotspot, sequential };

// The key of row number n.
enum class KeyForm {
  plain,   // "key" and 13 digits: 16 bytes, in the order of the numbers
  hashed,  // "user" and YCSB's hash of the number
  series,  // owner n modulo owners; the newest row of an owner comes first
  events,  // the same with a Zipfian owner
};

struct Workload {
  std::array<double, kOperations> shares = {0, 1, 0, 0, 0, 0};  // their sum is 1
  Distribution distribution = Distribution::uniform;
  KeyForm key_form = KeyForm::plain;
  uint64_t keys = 1'000'000;       // rows that the load phase writes: numbers 0 to keys - 1
  uint64_t owners = 0;             // series and events; 0: a hundredth of the keys
  uint64_t expected_inserts = 0;   // zipf draws from keys + expected_inserts, as YCSB does
  uint32_t fields = 1;             // of a row
  bool whole_rows = false;         // an update writes all fields; otherwise one of them
  uint32_t scan_rows = 100;        // a scan asks for 1 to scan_rows rows, uniformly
  Mix value_bytes = Mix(100);      // of each field
  Mix life_us = Mix(0);            // of each written row; 0: for ever
  double compressible = 0.5;       // the share to which values compress
  double theta = Zipfian::kTheta;  // of zipf and latest
  double hot_set = 0.2;            // hotspot: share of the keys
  double hot_share = 0.8;          // hotspot: share of the operations on them
  uint64_t seed = 1;

  double share(Operation o) const { return shares[static_cast<size_t>(o)]; }
  double read_share() const { return share(Operation::read) + share(Operation::scan); }
  bool inserts() const { return share(Operation::insert) > 0; }
  uint64_t owner_count() const { return owners != 0 ? owners : std::max<uint64_t>(1, keys / 100); }
};

struct NamedWorkload {
  const char* name;
  const char* summary;
  Workload workload;
};
std::span<const NamedWorkload> named_workloads();
const NamedWorkload* find_workload(std::string_view name);

// "read=50,update=50": weights of operations. INVALID_ARGUMENT.
Result<std::array<double, kOperations>> parse_shares(std::string_view text);

// The insert of every row of `workload`, each once: the load phase.
Workload load_phase_of(const Workload& workload);

// Numbers of inserted rows. `existing()` counts those of which all smaller ones were acknowledged,
// so that no read asks for a row that is still on its way. Any thread.
class InsertSequence {
 public:
  static constexpr uint64_t kMaxPending = 1 << 20;  // further ones are not counted as existing

  explicit InsertSequence(uint64_t first) : next_(first), existing_(first), done_(kMaxPending) {}
  uint64_t next() { return next_.fetch_add(1, std::memory_order_relaxed); }
  // The insert has ended, successful or not.
  void acknowledge(uint64_t number);
  uint64_t existing() const { return existing_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> next_;
  std::atomic<uint64_t> existing_;
  std::vector<std::atomic<bool>> done_;
  std::mutex advance_;
};

// The keys of a run, shared by all of its connections. Any thread.
class KeySpace {
 public:
  // `first_insert`: the number of the first row that is inserted.
  KeySpace(const Workload& workload, uint64_t first_insert);

  uint64_t next_in_sequence() { return sequence_.fetch_add(1, std::memory_order_relaxed); }
  InsertSequence* inserts() { return inserts_.get(); }
  const ScrambledZipfian& zipf() const { return *zipf_; }
  // Replaces `key`.
  void name_row(uint64_t number, std::string& key) const;
  // The bytes that the keys of the row's owner begin with; series and events only.
  void name_owner(uint64_t owner, std::string& prefix) const;

 private:
  uint64_t owner_of(uint64_t number) const;

  const Workload& workload_;
  std::atomic<uint64_t> sequence_{0};
  std::unique_ptr<InsertSequence> inserts_;
  std::optional<ScrambledZipfian> zipf_;
};

struct FieldValue {
  Bytes name;
  Bytes value;
};

// An operation with its operands. Views point into the drawer and are valid until its next draw.
struct Request {
  Operation operation = Operation::read;
  std::string key;                 // scan: the first possible key
  uint64_t number = 0;             // of the row
  uint32_t rows = 0;               // scan: at most so many
  bool within_prefix = false;      // scan: only keys that begin with `key`
  uint64_t life_us = 0;            // of what is written; 0: for ever
  std::vector<FieldValue> fields;  // update, insert
};

// Draws the requests of one connection.
class RequestDrawer {
 public:
  RequestDrawer(const Workload& workload, KeySpace& keys, uint64_t stream);

  const Request& draw();
  // Another key for the same operation, if that draws its key; an insert keeps its key.
  const Request& draw_key();
  // The second half of a modify: an update of that row.
  const Request& draw_update(const std::string& key);

 private:
  uint64_t choose_number();
  void draw_fields(bool all);

  const Workload& workload_;
  KeySpace& keys_;
  Random random_;
  std::optional<Latest> latest_;
  std::vector<std::string> names_;  // of fields
  std::vector<std::pair<size_t, size_t>> pieces_;
  std::string bytes_;
  Request request_;
};

// The name of field i of a row with `fields` fields.
std::string field_name(uint32_t i, uint32_t fields);

}  // namespace cellar::bench
