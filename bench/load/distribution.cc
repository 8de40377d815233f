#include "bench/load/distribution.h"

#include <algorithm>
#include <cmath>

#include "io/base/check.h"

namespace cellar::bench {
namespace {

constexpr uint64_t kExactTerms = 10'000;

}  // namespace

uint64_t fnv_hash(uint64_t number) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int byte = 0; byte < 8; ++byte) {
    hash ^= number & 0xff;
    hash *= 1'099'511'628'211;
    number >>= 8;
  }
  const auto value = static_cast<int64_t>(hash);
  return value < 0 ? 0 - hash : hash;
}

double zeta(uint64_t items, double theta) {
  const uint64_t exact = std::min(items, kExactTerms);
  double sum = 0;
  for (uint64_t i = exact; i > 0; --i) sum += std::pow(static_cast<double>(i), -theta);
  if (items == exact) return sum;
  const double from = static_cast<double>(exact);
  const double to = static_cast<double>(items);
  const auto term = [&](double x) { return std::pow(x, -theta); };
  const auto slope = [&](double x) { return -theta * std::pow(x, -theta - 1); };
  return sum + (std::pow(to, 1 - theta) - std::pow(from, 1 - theta)) / (1 - theta) +
         (term(to) - term(from)) / 2 + (slope(to) - slope(from)) / 12;
}

Zipfian::Zipfian(uint64_t items, double theta)
    : items_(items), theta_(theta), zeta_(zeta(items, theta)) {
  CHECK(items > 0 && theta > 0 && theta < 1, "zipfian of {} items, theta {}", items, theta);
  settle();
}

void Zipfian::settle() {
  const double zeta2 = 1 + std::pow(0.5, theta_);
  alpha_ = 1 / (1 - theta_);
  eta_ = (1 - std::pow(2 / static_cast<double>(items_), 1 - theta_)) / (1 - zeta2 / zeta_);
}

void Zipfian::grow(uint64_t items) {
  if (items <= items_) return;
  while (items_ < items) zeta_ += std::pow(static_cast<double>(++items_), -theta_);
  settle();
}

uint64_t Zipfian::draw(Random& random) const {
  const double u = random.unit();
  const double uz = u * zeta_;
  if (uz < 1 || items_ == 1) return 0;
  if (uz < 1 + std::pow(0.5, theta_) || items_ == 2) return 1;
  const auto rank =
      static_cast<uint64_t>(static_cast<double>(items_) * std::pow(eta_ * u - eta_ + 1, alpha_));
  return std::min(rank, items_ - 1);
}

uint64_t draw_hot_spot(Random& random, uint64_t keys, double hot_set, double hot_share) {
  const auto hot =
      std::clamp<uint64_t>(static_cast<uint64_t>(static_cast<double>(keys) * hot_set), 1, keys);
  if (hot == keys || random.unit() < hot_share) return random.below(hot);
  return hot + random.below(keys - hot);
}

}  // namespace cellar::bench
