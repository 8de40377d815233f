#include "net/client/api/mutation.h"

#include <utility>

#include "io/base/check.h"

namespace cellar::client {

Mutation::Part Mutation::keep(Bytes bytes) {
  const Part part{static_cast<uint32_t>(arena_.size()), static_cast<uint32_t>(bytes.size())};
  arena_.append(bytes);
  return part;
}

// Operations of one row usually repeat the family.
Mutation::Part Mutation::keep_family(Bytes family) {
  if (!operations_.empty() && bytes(operations_.back().family) == family) {
    return operations_.back().family;
  }
  return keep(family);
}

Mutation::Operation& Mutation::add(Kind kind) {
  Operation operation;
  operation.kind = kind;
  return operations_.emplace_back(operation);
}

Mutation& Mutation::set(Bytes family, Bytes qualifier, Bytes value) {
  const Part kept_family = keep_family(family);
  const Part kept_qualifier = keep(qualifier);
  const Part kept_value = keep(value);
  Operation& operation = add(Kind::set);
  operation.family = kept_family;
  operation.qualifier = kept_qualifier;
  operation.value = kept_value;
  return *this;
}

Mutation& Mutation::set(Bytes family, Bytes qualifier, Bytes value, int64_t timestamp_us) {
  set(family, qualifier, value);
  operations_.back().timestamp_us = timestamp_us;
  return *this;
}

Mutation& Mutation::with_ttl(int64_t ttl_us) {
  CHECK(!operations_.empty() && operations_.back().kind == Kind::set, "with_ttl() follows a set()");
  operations_.back().ttl_us = ttl_us;
  return *this;
}

Mutation& Mutation::with_expire_at(int64_t expire_at_us) {
  CHECK(!operations_.empty() && operations_.back().kind == Kind::set,
        "with_expire_at() follows a set()");
  operations_.back().expire_at_us = expire_at_us;
  return *this;
}

Mutation& Mutation::delete_column(Bytes family, Bytes qualifier, std::optional<int64_t> start_us,
                                  std::optional<int64_t> end_us) {
  const Part kept_family = keep_family(family);
  const Part kept_qualifier = keep(qualifier);
  Operation& operation = add(Kind::delete_column);
  operation.family = kept_family;
  operation.qualifier = kept_qualifier;
  operation.start_us = start_us;
  operation.end_us = end_us;
  return *this;
}

Mutation& Mutation::delete_family(Bytes family) {
  const Part kept = keep_family(family);
  add(Kind::delete_family).family = kept;
  return *this;
}

Mutation& Mutation::delete_row() {
  add(Kind::delete_row);
  return *this;
}

bool Mutation::safe_to_repeat(bool sole_writer) const {
  if (token_) return true;
  if (!sole_writer) return false;
  for (const Operation& operation : operations_) {
    if (operation.kind == Kind::set && (!operation.timestamp_us || operation.ttl_us)) return false;
  }
  return true;
}

Mutation& Mutation::with_token(Token token) {
  token_ = std::move(token);
  return *this;
}

}  // namespace cellar::client
