#include "io/remote/etcd_port.h"

#include <set>

#include "io/base/bytes.h"
#include "io/base/check.h"

namespace cellar::etcd {
namespace {

Result<void> check_key(std::string_view key, std::string_view what, size_t most = kMaxKeyBytes) {
  if (key.empty()) return fail(Errc::invalid_argument, "etcd: {} is empty", what);
  if (key.size() > most) {
    return fail(Errc::invalid_argument, "etcd: {} takes {} bytes, {} are permitted", what,
                key.size(), most);
  }
  return {};
}

Result<void> check(const Keys& keys) {
  if (keys.end.empty()) return check_key(keys.begin, "a key");
  // One byte more: the next key behind the longest one.
  TRY_VOID(check_key(keys.begin, "the begin of a range", kMaxKeyBytes + 1));
  TRY_VOID(check_key(keys.end, "the end of a range", kMaxKeyBytes + 1));
  if (keys.end != kNoEnd && keys.end <= keys.begin) {
    return fail(Errc::invalid_argument, "etcd: the range from '{}' to '{}' is empty",
                escape_bytes(keys.begin), escape_bytes(keys.end));
  }
  return {};
}

size_t bytes_of(const Keys& keys) { return keys.begin.size() + keys.end.size(); }

Result<size_t> check_op(const Op& op) {
  if (const auto* put = std::get_if<Put>(&op)) {
    TRY_VOID(check_key(put->key, "the key of a put"));
    return put->key.size() + put->value.size();
  }
  if (const auto* removal = std::get_if<Delete>(&op)) {
    TRY_VOID(check(removal->keys));
    return bytes_of(removal->keys);
  }
  const auto& range = std::get<Range>(op);
  TRY_VOID(check(range));
  return bytes_of(range.keys);
}

// A key that a branch changes twice is refused by etcd, too.
Result<void> check_changes(const std::vector<Op>& branch) {
  std::set<std::string_view> put;
  for (const Op& op : branch) {
    const auto* one = std::get_if<Put>(&op);
    if (one != nullptr && !put.insert(one->key).second) {
      return fail(Errc::invalid_argument, "etcd: a transaction puts the key '{}' twice",
                  escape_bytes(one->key));
    }
  }
  for (const Op& op : branch) {
    const auto* removal = std::get_if<Delete>(&op);
    if (removal == nullptr) continue;
    const auto first = put.lower_bound(removal->keys.begin);
    if (first != put.end() && removal->keys.contains(*first)) {
      return fail(Errc::invalid_argument, "etcd: a transaction puts and deletes the key '{}'",
                  escape_bytes(*first));
    }
  }
  return {};
}

Result<size_t> check_branch(const std::vector<Op>& branch) {
  if (branch.size() > kMaxTxnOps) {
    return fail(Errc::invalid_argument, "etcd: a branch of {} operations, {} are permitted",
                branch.size(), kMaxTxnOps);
  }
  size_t bytes = 0;
  for (const Op& op : branch) {
    TRY(const size_t more, check_op(op));
    bytes += more + kOpOverheadBytes;
  }
  TRY_VOID(check_changes(branch));
  return bytes;
}

}  // namespace

Keys Keys::prefix(std::string_view prefix) {
  if (prefix.empty()) return {std::string(kNoEnd), std::string(kNoEnd)};
  std::string end = prefix_successor(prefix);
  return {std::string(prefix), end.empty() ? std::string(kNoEnd) : std::move(end)};
}

bool Keys::contains(std::string_view key) const {
  if (end.empty()) return key == begin;
  return key >= begin && (end == kNoEnd || key < end);
}

Range next_page(const Range& range, const RangeAnswer& answer) {
  CHECK(answer.more && !answer.items.empty(), "there is no page behind the last one");
  Range next = range;
  next.keys.begin = answer.items.back().key + '\0';
  if (next.at == kLatest) next.at = answer.revision;
  return next;
}

Result<void> check(const Range& request) {
  TRY_VOID(check(request.keys));
  if (request.limit < 1 || request.limit > kMaxRangeItems) {
    return fail(Errc::invalid_argument, "etcd: a page of {} items; from 1 to {} are permitted",
                request.limit, kMaxRangeItems);
  }
  if (request.at.value() < 0) {
    return fail(Errc::invalid_argument, "etcd: revision {} is negative", request.at.value());
  }
  return {};
}

Result<void> check(const Txn& request) {
  if (request.compares.size() > kMaxTxnOps) {
    return fail(Errc::invalid_argument, "etcd: {} comparisons, {} are permitted",
                request.compares.size(), kMaxTxnOps);
  }
  size_t bytes = 0;
  for (const Compare& compare : request.compares) {
    TRY_VOID(check_key(compare.key, "the key of a comparison"));
    bytes += compare.key.size() + compare.value.size() + kOpOverheadBytes;
  }
  TRY(const size_t then, check_branch(request.then));
  TRY(const size_t otherwise, check_branch(request.otherwise));
  bytes += then + otherwise;
  if (bytes > kMaxRequestBytes) {
    return fail(Errc::invalid_argument, "etcd: a transaction of {} bytes, {} are permitted", bytes,
                kMaxRequestBytes);
  }
  return {};
}

Result<void> check(const WatchRequest& request) {
  TRY_VOID(check(request.keys));
  if (request.from.value() < 1) {
    return fail(Errc::invalid_argument,
                "etcd: a watch begins at the revision of a read + 1, not {}", request.from.value());
  }
  return {};
}

Result<void> check_ttl(int64_t ttl_s) {
  if (ttl_s >= 1 && ttl_s <= kMaxLeaseSeconds) return {};
  return fail(Errc::invalid_argument, "etcd: a lease of {} s; from 1 to {} are permitted", ttl_s,
              kMaxLeaseSeconds);
}

Result<void> check_timeout(int64_t timeout_us) {
  if (timeout_us >= 1 && timeout_us <= kMaxTimeoutUs) return {};
  return fail(Errc::invalid_argument, "etcd: a timeout of {} us; from 1 to {} are permitted",
              timeout_us, kMaxTimeoutUs);
}

}  // namespace cellar::etcd
