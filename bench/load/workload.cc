#include "bench/load/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace cellar::bench {
namespace {

constexpr std::string_view kNames[kOperations] = {"read", "update", "insert",
                                                  "scan", "modify", "delete"};

void append_digits(std::string& out, uint64_t number, size_t width) {
  const size_t end = out.size() + width;
  out.resize(end, '0');
  for (size_t i = end; number > 0 && i > end - width; number /= 10)
    out[--i] = static_cast<char>('0' + number % 10);
}

using Shares = std::array<double, kOperations>;

// read, update, insert, scan, modify, delete
Workload of_shares(Shares shares) {
  Workload w;
  w.shares = shares;
  return w;
}

Workload ycsb(Shares shares, Distribution distribution) {
  Workload w = of_shares(shares);
  w.distribution = distribution;
  w.key_form = KeyForm::hashed;
  w.fields = 10;
  return w;
}

Workload time_series() {
  Workload w = of_shares({0, 0, .95, .05, 0, 0});
  w.key_form = KeyForm::series;
  w.value_bytes = Mix(16);
  w.life_us = *Mix::parse_lives("1d");
  w.compressible = 1;
  return w;
}

Workload click_events() {
  Workload w = of_shares({0, 0, .9, .1, 0, 0});
  w.key_form = KeyForm::events;
  w.distribution = Distribution::zipf;
  w.scan_rows = 50;
  w.value_bytes = *Mix::parse_sizes("64-256:70,256-1024:25,1024-8192:5");
  w.life_us = *Mix::parse_lives("1h:50,1d:30,30d:20");
  return w;
}

Workload sessions() {
  Workload w = of_shares({.8, .14, .05, 0, 0, .01});
  w.distribution = Distribution::zipf;
  w.value_bytes = *Mix::parse_sizes("256-2048");
  w.life_us = *Mix::parse_lives("30m");
  return w;
}

Workload deletes() {
  Workload w = of_shares({.4, .3, 0, 0, 0, .3});
  return w;
}

}  // namespace

std::string_view name_of(Operation operation) { return kNames[static_cast<size_t>(operation)]; }

std::span<const NamedWorkload> named_workloads() {
  using enum Distribution;
  static const NamedWorkload kWorkloads[] = {
      {"write", "updates only", of_shares({0, 1, 0, 0, 0, 0})},
      {"read", "reads only", of_shares({1, 0, 0, 0, 0, 0})},
      {"mixed", "half reads, half updates", of_shares({.5, .5, 0, 0, 0, 0})},
      {"ycsb-a", "YCSB A: half reads, half updates; zipf", ycsb({.5, .5, 0, 0, 0, 0}, zipf)},
      {"ycsb-b", "YCSB B: 95 % reads, 5 % updates; zipf", ycsb({.95, .05, 0, 0, 0, 0}, zipf)},
      {"ycsb-c", "YCSB C: reads only; zipf", ycsb({1, 0, 0, 0, 0, 0}, zipf)},
      {"ycsb-d", "YCSB D: 95 % reads of the latest, 5 % inserts",
       ycsb({.95, 0, .05, 0, 0, 0}, latest)},
      {"ycsb-e", "YCSB E: 95 % scans of 1 to 100 rows, 5 % inserts; zipf",
       ycsb({0, 0, .05, .95, 0, 0}, zipf)},
      {"ycsb-f", "YCSB F: half reads, half read-modify-writes; zipf",
       ycsb({.5, 0, 0, 0, .5, 0}, zipf)},
      {"timeseries", "points of series that live for a day; 5 % scans of a series' newest points",
       time_series()},
      {"clicks",
       "events of users, zipf, of 64 B to 8 KiB, that live from an hour to 30 days; 10 % "
       "scans of a user's newest events",
       click_events()},
      {"sessions", "80 % reads, 14 % refreshes, 5 % new sessions, 1 % ends; 30 minutes; zipf",
       sessions()},
      {"deletes", "40 % reads, 30 % updates, 30 % deletes", deletes()},
  };
  return kWorkloads;
}

const NamedWorkload* find_workload(std::string_view name) {
  for (const NamedWorkload& workload : named_workloads()) {
    if (name == workload.name) return &workload;
  }
  return nullptr;
}

Result<Shares> parse_shares(std::string_view text) {
  Shares shares{};
  double total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const size_t equals = part.find('=');
    const auto name = std::ranges::find(kNames, part.substr(0, equals));
    double weight = -1;
    if (equals != part.npos)
      std::from_chars(part.data() + equals + 1, part.data() + part.size(), weight);
    if (name == std::end(kNames) || !(weight >= 0) || !(weight < 1e9))
      return fail(Errc::invalid_argument, "shares '{}': '{}' is not an operation with a weight",
                  text, part);
    shares[static_cast<size_t>(name - std::begin(kNames))] = weight;
  }
  for (double share : shares) total += share;
  if (total <= 0) return fail(Errc::invalid_argument, "shares '{}' are all zero", text);
  for (double& share : shares) share /= total;
  return shares;
}

Workload load_phase_of(const Workload& workload) {
  Workload load = workload;
  load.shares = {0, 0, 1, 0, 0, 0};
  return load;
}

void InsertSequence::acknowledge(uint64_t number) {
  if (number >= existing() + kMaxPending) return;
  done_[number % kMaxPending].store(true, std::memory_order_release);
  // If another thread holds the lock, it or the next acknowledgement advances over this one.
  const std::unique_lock lock(advance_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  uint64_t at = existing_.load(std::memory_order_relaxed);
  while (done_[at % kMaxPending].exchange(false, std::memory_order_acquire)) ++at;
  existing_.store(at, std::memory_order_release);
}

KeySpace::KeySpace(const Workload& workload, uint64_t first_insert) : workload_(workload) {
  if (workload.inserts()) inserts_ = std::make_unique<InsertSequence>(first_insert);
  if (workload.distribution == Distribution::zipf || workload.key_form == KeyForm::events)
    zipf_.emplace(workload.theta);
}

uint64_t KeySpace::owner_of(uint64_t number) const {
  if (workload_.key_form == KeyForm::series) return number % workload_.owner_count();
  Random random(workload_.seed ^ (number * 0x9e3779b97f4a7c15));
  return zipf_->draw(random, workload_.owner_count());
}

void KeySpace::name_owner(uint64_t owner, std::string& prefix) const {
  prefix = workload_.key_form == KeyForm::series ? "series" : "user";
  append_digits(prefix, owner, 9);
  prefix += '#';
}

void KeySpace::name_row(uint64_t number, std::string& key) const {
  constexpr uint64_t kLast = 9'999'999'999'999;
  switch (workload_.key_form) {
    case KeyForm::plain:
      key = "key";
      append_digits(key, number, 13);
      break;
    case KeyForm::hashed: {
      char digits[20];
      const auto end = std::to_chars(std::begin(digits), std::end(digits), fnv_hash(number)).ptr;
      key = "user";
      key.append(digits, end);
      break;
    }
    case KeyForm::series:
    case KeyForm::events:
      name_owner(owner_of(number), key);
      append_digits(key, kLast - number, 13);
      break;
  }
}

std::string field_name(uint32_t i, uint32_t fields) {
  return fields == 1 ? "q" : fmt::format("field{}", i);
}

RequestDrawer::RequestDrawer(const Workload& workload, KeySpace& keys, uint64_t stream)
    : workload_(workload), keys_(keys), random_(Random(workload.seed).next() + stream) {
  random_ = Random(random_.next());  // neighbouring streams do not overlap
  if (workload.distribution == Distribution::latest) latest_.emplace(workload.keys, workload.theta);
  for (uint32_t i = 0; i < workload.fields; ++i) names_.push_back(field_name(i, workload.fields));
}

uint64_t RequestDrawer::choose_number() {
  const uint64_t existing =
      keys_.inserts() != nullptr ? keys_.inserts()->existing() : workload_.keys;
  switch (workload_.distribution) {
    case Distribution::uniform:
      return random_.below(workload_.keys);
    case Distribution::sequential:
      return keys_.next_in_sequence() % workload_.keys;
    case Distribution::hotspot:
      return draw_hot_spot(random_, workload_.keys, workload_.hot_set, workload_.hot_share);
    case Distribution::latest:
      return latest_->draw(random_, existing);
    case Distribution::zipf:
      break;
  }
  const uint64_t range = workload_.keys + workload_.expected_inserts;
  uint64_t number = keys_.zipf().draw(random_, range);
  while (number >= existing) number = keys_.zipf().draw(random_, range);
  return number;
}

void RequestDrawer::draw_fields(bool all) {
  bytes_.clear();
  pieces_.clear();
  request_.fields.clear();
  const auto count = static_cast<uint32_t>(names_.size());
  const uint32_t first = all || count == 1 ? 0 : static_cast<uint32_t>(random_.below(count));
  const uint32_t end = all ? count : first + 1;
  for (uint32_t i = first; i < end; ++i) {
    const size_t size = workload_.value_bytes.draw(random_);
    pieces_.emplace_back(bytes_.size(), size);
    append_value(bytes_, request_.key, names_[i], random_.next(), size, workload_.compressible);
  }
  for (uint32_t i = first; i < end; ++i) {
    const auto [at, size] = pieces_[i - first];
    request_.fields.push_back({names_[i], Bytes(bytes_).substr(at, size)});
  }
  request_.life_us = workload_.life_us.draw(random_);
}

const Request& RequestDrawer::draw() {
  size_t operation = 0;
  double u = random_.unit();
  while (operation + 1 < kOperations &&
         (u >= workload_.shares[operation] || workload_.shares[operation] == 0))
    u -= workload_.shares[operation++];
  // Rounding may leave the last share behind.
  while (workload_.shares[operation] == 0) operation = (operation + 1) % kOperations;
  request_.operation = static_cast<Operation>(operation);
  request_.rows = 0;
  request_.within_prefix = false;
  if (request_.operation == Operation::scan)
    request_.rows = 1 + static_cast<uint32_t>(random_.below(workload_.scan_rows));
  if (request_.operation == Operation::insert) {
    request_.number = keys_.inserts()->next();
    keys_.name_row(request_.number, request_.key);
    draw_fields(true);
    return request_;
  }
  return draw_key();
}

const Request& RequestDrawer::draw_key() {
  if (request_.operation == Operation::insert) return request_;
  const bool owned = workload_.key_form == KeyForm::series || workload_.key_form == KeyForm::events;
  if (owned && request_.operation == Operation::scan) {
    const uint64_t owners = workload_.owner_count();
    request_.number = workload_.distribution == Distribution::zipf
                          ? keys_.zipf().draw(random_, owners)
                          : random_.below(owners);
    keys_.name_owner(request_.number, request_.key);
    request_.within_prefix = true;
    return request_;
  }
  request_.number = choose_number();
  keys_.name_row(request_.number, request_.key);
  if (request_.operation == Operation::update) draw_fields(workload_.whole_rows);
  return request_;
}

const Request& RequestDrawer::draw_update(const std::string& key) {
  request_.operation = Operation::update;
  request_.key = key;
  draw_fields(workload_.whole_rows);
  return request_;
}

}  // namespace cellar::bench
