// Mutation: changes to one row. Owns its bytes; operations apply in the order of the calls.
//
//   Mutation m("com.example/index");
//   m.set("page", "title", "Example").delete_column("page", "draft");
//
// The server validates the mutation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/base/bytes.h"

namespace cellar::client {

// Makes retries of a write safe (SEMANTICS 2).
struct Token {
  std::string token;  // 1 to 64 bytes
  // In the server's time, see Pong; 0: set by the client at the first attempt.
  int64_t issued_us = 0;
};

class Mutation {
 public:
  enum class Kind : uint8_t { set = 1, delete_column = 2, delete_family = 3, delete_row = 4 };
  struct Part {
    uint32_t at = 0;
    uint32_t size = 0;
  };
  struct Operation {  // parts refer to arena()
    Kind kind = Kind::set;
    Part family;
    Part qualifier;
    Part value;
    std::optional<int64_t> timestamp_us;          // set
    std::optional<int64_t> ttl_us, expire_at_us;  // set: at most one of them
    std::optional<int64_t> start_us, end_us;      // delete_column: [start, end)
  };

  explicit Mutation(Bytes row) : row_bytes_(row.size()), arena_(row) {}

  // The server assigns the timestamp.
  Mutation& set(Bytes family, Bytes qualifier, Bytes value);
  Mutation& set(Bytes family, Bytes qualifier, Bytes value, int64_t timestamp_us);
  // Applies to the preceding set(): the cell expires this long after the commit, or at that time.
  Mutation& with_ttl(int64_t ttl_us);
  Mutation& with_expire_at(int64_t expire_at_us);
  // Deletes versions in [start, end); an absent bound is open.
  Mutation& delete_column(Bytes family, Bytes qualifier, std::optional<int64_t> start_us = {},
                          std::optional<int64_t> end_us = {});
  Mutation& delete_family(Bytes family);
  Mutation& delete_row();
  Mutation& with_token(Token token);

  Bytes row() const { return Bytes(arena_).substr(0, row_bytes_); }
  Bytes bytes(Part part) const { return Bytes(arena_).substr(part.at, part.size); }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::optional<Token>& token() const { return token_; }
  // Whether it may be retried after a doubtful outcome (retry_policy.h): it has a token or, for a
  // sole writer, it has only deletes and cells with given timestamps and no ttl.
  bool safe_to_repeat(bool sole_writer) const;
  Bytes arena() const { return arena_; }  // begins with the row
  size_t memory_bytes() const { return arena_.size() + operations_.size() * sizeof(Operation); }

 private:
  Part keep(Bytes bytes);
  Part keep_family(Bytes family);
  Operation& add(Kind kind);

  size_t row_bytes_;
  std::string arena_;
  std::vector<Operation> operations_;
  std::optional<Token> token_;
};

}  // namespace cellar::client
