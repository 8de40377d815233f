#include "io/sim/remote/sim_etcd.h"

#include <algorithm>
#include <utility>

namespace cellar {

using namespace etcd;

namespace {

std::unexpected<Error> no_lease(LeaseId id) {
  return fail(Errc::not_found, "etcd: lease {} has expired or was revoked", id);
}

int64_t number_of(const Compare& compare, const KeyValue* kv) {
  if (kv == nullptr) return 0;
  switch (compare.what) {
    case Compare::What::version:
      return kv->version;
    case Compare::What::created:
      return kv->created.value();
    case Compare::What::modified:
      return kv->modified.value();
    case Compare::What::lease:
      return kv->lease.value();
    case Compare::What::value:
      break;
  }
  UNREACHABLE("a value is no number");
}

template <class T>
bool compares(const T& left, Compare::How how, const T& right) {
  switch (how) {
    case Compare::How::equal:
      return left == right;
    case Compare::How::not_equal:
      return left != right;
    case Compare::How::greater:
      return left > right;
    case Compare::How::less:
      return left < right;
  }
  UNREACHABLE("a comparison {}", static_cast<int>(how));
}

}  // namespace

SimEtcd::SimEtcd(SimWorld& world) : world_(world), loop_(world.add_loop()) {}
SimEtcd::~SimEtcd() = default;

void SimEtcd::later(int64_t after_us, std::function<void()> what) {
  spawn(loop_.executor(), [this, after_us, what = std::move(what)]() -> Async<void> {
    co_await sleep_us(loop_.timers(), after_us);
    what();
  });
}

void SimEtcd::lose_leader(int64_t for_us) {
  leaderless_until_us_ = std::max(leaderless_until_us_, world_.now_us() + for_us);
  later(for_us, [this] {
    if (!has_leader()) return;
    for (auto& [id, lease] : leases_) lease.until_us = world_.now_us() + lease.ttl_s * 1'000'000;
    look_in_time();
  });
}

void SimEtcd::add_listener(const void* who, std::function<void()> changed) {
  listeners_[who] = std::move(changed);
}

void SimEtcd::told() {
  for (const auto& [who, changed] : listeners_) changed();
}

// ---- keys ----

const KeyValue* SimEtcd::at(const std::string& key, int64_t revision) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  const auto later_than = [&](const KeyValue& kv) { return kv.modified.value() <= revision; };
  const auto& versions = found->second;
  const auto it = std::find_if(versions.rbegin(), versions.rend(), later_than);
  return it == versions.rend() || it->version == 0 ? nullptr : &*it;
}

Result<RangeAnswer> SimEtcd::range(const Range& request) const {
  const int64_t revision = request.at == kLatest ? revision_ : request.at.value();
  if (revision > revision_) {
    return fail(Errc::out_of_range, "etcd: revision {} is in the future", revision);
  }
  if (revision < compacted_) {
    return fail(Errc::out_of_range, "etcd: revision {} is compacted", revision);
  }
  RangeAnswer answer;
  answer.revision = Revision(revision_);
  for (auto it = keys_.lower_bound(request.keys.begin); it != keys_.end(); ++it) {
    if (!request.keys.contains(it->first)) break;
    const KeyValue* kv = at(it->first, revision);
    if (kv == nullptr) continue;
    ++answer.count;
    if (request.count_only) continue;
    if (answer.count > request.limit) {
      answer.more = true;
      continue;
    }
    answer.items.push_back(*kv);
    if (request.keys_only) answer.items.back().value.clear();
  }
  return answer;
}

bool SimEtcd::holds(const Compare& compare) const {
  const KeyValue* kv = at(compare.key, revision_);
  if (compare.what == Compare::What::value) {
    return kv != nullptr && compares(kv->value, compare.how, compare.value);
  }
  return compares(number_of(compare, kv), compare.how, compare.number);
}

Result<void> SimEtcd::check_leases(const std::vector<Op>& branch) const {
  for (const Op& op : branch) {
    const auto* put = std::get_if<Put>(&op);
    if (put == nullptr || put->lease == kNoLease) continue;
    if (!leases_.contains(put->lease)) return no_lease(put->lease);
  }
  return {};
}

Result<TxnOutcome> SimEtcd::txn(const Txn& request) {
  const bool held =
      std::ranges::all_of(request.compares, [&](const Compare& c) { return holds(c); });
  const std::vector<Op>& branch = held ? request.then : request.otherwise;
  TRY_VOID(check_leases(branch));
  for (const Op& op : branch) {
    if (const auto* read = std::get_if<Range>(&op)) TRY_VOID(range(*read));
  }
  const int64_t next = revision_ + 1;
  bool changed = false;
  std::vector<OpAnswer> answers;
  for (const Op& op : branch) answers.push_back(apply(op, next, changed));
  if (changed) revision_ = next;
  for (OpAnswer& answer : answers) {
    if (auto* read = std::get_if<RangeAnswer>(&answer)) read->revision = Revision(revision_);
  }
  if (changed) told();
  if (held) return Done{Revision(revision_), std::move(answers)};
  return Refused{Revision(revision_), std::move(answers)};
}

OpAnswer SimEtcd::apply(const Op& op, int64_t revision, bool& changed) {
  if (const auto* one = std::get_if<Put>(&op)) {
    put(*one, revision);
    changed = true;
    return PutAnswer{};
  }
  if (const auto* removal = std::get_if<Delete>(&op)) {
    DeleteAnswer answer;
    for (auto it = keys_.lower_bound(removal->keys.begin); it != keys_.end(); ++it) {
      if (!removal->keys.contains(it->first)) break;
      if (it->second.back().version == 0) continue;
      remove(it->first, revision);
      ++answer.deleted;
      changed = true;
    }
    return answer;
  }
  // A read in a transaction sees what stands before it in its branch.
  const int64_t before = std::exchange(revision_, changed ? revision : revision_);
  auto answer = range(std::get<Range>(op));
  revision_ = before;
  CHECK(answer.has_value(), "a range was checked before");
  return *std::move(answer);
}

void SimEtcd::put(const Put& put, int64_t revision) {
  Versions& versions = keys_[put.key];
  KeyValue kv{put.key, put.value, Revision(revision), Revision(revision), 1, put.lease};
  std::optional<KeyValue> before;
  if (!versions.empty() && versions.back().version > 0) {
    before = versions.back();
    kv.created = before->created;
    kv.version = before->version + 1;
    if (before->lease != kNoLease) leases_[before->lease].keys.erase(put.key);
  }
  if (put.lease != kNoLease) leases_[put.lease].keys.insert(put.key);
  versions.push_back(kv);
  history_.push_back({Change::Kind::put, std::move(kv), std::move(before)});
}

void SimEtcd::remove(const std::string& key, int64_t revision) {
  Versions& versions = keys_[key];
  KeyValue before = versions.back();
  if (before.lease != kNoLease) leases_[before.lease].keys.erase(key);
  KeyValue gone;
  gone.key = key;
  gone.modified = Revision(revision);
  versions.push_back(gone);
  history_.push_back({Change::Kind::removed, std::move(gone), std::move(before)});
}

Result<Compaction> SimEtcd::compact(Revision at) {
  if (at.value() <= compacted_) {
    return fail(Errc::out_of_range, "etcd: revision {} is compacted already", at);
  }
  if (at.value() > revision_) {
    return fail(Errc::out_of_range, "etcd: revision {} is in the future", at);
  }
  compacted_ = at.value();
  return Compaction{};
}

std::vector<Change> SimEtcd::changes(const Keys& keys, int64_t from, int64_t to,
                                     bool before) const {
  std::vector<Change> found;
  const auto first = std::ranges::lower_bound(history_, Revision(from), {},
                                              [](const Change& c) { return c.now.modified; });
  for (auto it = first; it != history_.end() && it->now.modified.value() <= to; ++it) {
    if (!keys.contains(it->now.key)) continue;
    found.push_back(*it);
    if (!before) found.back().before.reset();
  }
  return found;
}

// ---- leases ----

Result<Granted> SimEtcd::grant(LeaseId id, int64_t ttl_s) {
  if (id == kNoLease) id = LeaseId(static_cast<int64_t>(world_.random().next() >> 2 | 1));
  if (leases_.contains(id)) {
    return fail(Errc::failed_precondition, "etcd: lease {} exists already", id);
  }
  Lease& lease = leases_[id];
  lease.ttl_s = std::max(ttl_s, kMinTtlS);
  lease.until_us = world_.now_us() + lease.ttl_s * 1'000'000;
  look_in_time();
  return Granted{id, lease.ttl_s};
}

Result<Renewed> SimEtcd::keep_alive(LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.until_us <= world_.now_us()) return no_lease(id);
  Lease& lease = found->second;
  lease.until_us = world_.now_us() + lease.ttl_s * 1'000'000;
  look_in_time();
  return Renewed{lease.ttl_s};
}

Result<Revoked> SimEtcd::revoke(LeaseId id) {
  if (!leases_.contains(id)) return no_lease(id);
  end_lease(id);
  return Revoked{};
}

void SimEtcd::end_lease(LeaseId id) {
  const std::set<std::string> keys = leases_[id].keys;
  for (const std::string& key : keys) remove(key, revision_ + 1);
  leases_.erase(id);
  if (keys.empty()) return;
  ++revision_;
  told();
}

// A term that was begun anew since is found out by the look, which plans the next one.
void SimEtcd::look_in_time() {
  int64_t next_us = INT64_MAX;
  for (const auto& [id, lease] : leases_) {
    if (lease.until_us > world_.now_us()) next_us = std::min(next_us, lease.until_us);
  }
  if (next_us >= look_us_) return;
  look_us_ = next_us;
  later(next_us - world_.now_us(), [this, next_us] {
    if (look_us_ != next_us) return;  // an earlier one was planned since
    look_us_ = INT64_MAX;
    expire();
  });
}

// Without a leader nothing expires; the next one begins all terms anew.
void SimEtcd::expire() {
  if (!has_leader()) return;
  for (const auto& [id, lease] : leases_) {
    if (lease.until_us > world_.now_us()) continue;
    const auto late_us = static_cast<int64_t>(world_.random().below(kExpiryLateUs));
    later(late_us, [this, gone = id] {
      const auto found = leases_.find(gone);
      const bool due = found != leases_.end() && found->second.until_us <= world_.now_us();
      if (due && has_leader()) end_lease(gone);
    });
  }
  look_in_time();
}

Result<LeaseState> SimEtcd::time_to_live(LeaseId id) const {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.until_us <= world_.now_us()) return no_lease(id);
  LeaseState state;
  state.granted_s = found->second.ttl_s;
  state.left_s = (found->second.until_us - world_.now_us()) / 1'000'000;
  state.keys.assign(found->second.keys.begin(), found->second.keys.end());
  return state;
}

std::vector<LeaseId> SimEtcd::leases() const {
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : leases_) ids.push_back(id);
  return ids;
}

}  // namespace cellar
