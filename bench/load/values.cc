#include "bench/load/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace cellar::bench {
namespace {

uint64_t mix_in(uint64_t seed, Bytes bytes) {
  while (!bytes.empty()) {
    const size_t n = std::min<size_t>(8, bytes.size());
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), n);
    seed = Random(seed ^ word).next() + n;
    bytes.remove_prefix(n);
  }
  return seed;
}

bool read_number(std::string_view text, uint64_t& number, std::string_view& unit) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  unit = text.substr(static_cast<size_t>(end - text.data()));
  return ec == std::errc();
}

bool read_size(std::string_view text, uint64_t& bytes) {
  std::string_view unit;
  if (!read_number(text, bytes, unit)) return false;
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : 0;
  bytes <<= shift;
  return (unit.empty() || shift != 0) && bytes <= (64u << 20);
}

bool read_life(std::string_view text, uint64_t& us) {
  us = 0;
  if (text == "none") return true;
  std::string_view unit;
  if (!read_number(text, us, unit)) return false;
  constexpr uint64_t kSecond = 1'000'000;
  const uint64_t scale = unit == "ms"  ? 1000
                         : unit == "s" ? kSecond
                         : unit == "m" ? 60 * kSecond
                         : unit == "h" ? 3600 * kSecond
                         : unit == "d" ? 86'400 * kSecond
                                       : 0;
  if (scale == 0 || us == 0 || us > 36'500ull * 86'400 * kSecond / scale) return false;
  us *= scale;
  return true;
}

}  // namespace

Result<Mix> Mix::parse(std::string_view text, std::string_view what, ReadNumber read) {
  Mix mix;
  mix.choices_.clear();
  double total = 0;
  for (std::string_view rest = text; !rest.empty() && mix.choices_.size() < kMaxChoices;) {
    std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    double weight = 1;
    if (const size_t colon = part.find(':'); colon != part.npos) {
      const std::string_view digits = part.substr(colon + 1);
      const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
      if (ec != std::errc() || end != digits.data() + digits.size() || !(weight > 0) ||
          !(weight < 1e9))
        return fail(Errc::invalid_argument, "{} '{}': the weight of '{}' is not a number above 0",
                    what, text, part);
      part = part.substr(0, colon);
    }
    const size_t dash = part.find('-');
    Choice choice;
    const bool good = read(part.substr(0, dash), choice.least) &&
                      (dash == part.npos ? (choice.most = choice.least, true)
                                         : read(part.substr(dash + 1), choice.most)) &&
                      choice.least <= choice.most;
    if (!good) return fail(Errc::invalid_argument, "{} '{}': cannot read '{}'", what, text, part);
    total += weight;
    choice.up_to = total;
    mix.choices_.push_back(choice);
  }
  if (mix.choices_.empty()) return fail(Errc::invalid_argument, "{} are empty", what);
  for (Choice& choice : mix.choices_) choice.up_to /= total;
  mix.choices_.back().up_to = 1;
  return mix;
}

Result<Mix> Mix::parse_sizes(std::string_view text) { return parse(text, "sizes", &read_size); }
Result<Mix> Mix::parse_lives(std::string_view text) { return parse(text, "lives", &read_life); }

uint64_t Mix::draw(Random& random) const {
  const Choice* choice = &choices_.front();
  if (choices_.size() > 1) {
    const double u = random.unit();
    while (u >= choice->up_to && choice != &choices_.back()) ++choice;
  }
  if (choice->least == choice->most) return choice->least;
  return choice->least + random.below(choice->most - choice->least + 1);
}

uint64_t Mix::max() const {
  uint64_t most = 0;
  for (const Choice& choice : choices_) most = std::max(most, choice.most);
  return most;
}

double Mix::mean() const {
  double sum = 0;
  double before = 0;
  for (const Choice& choice : choices_) {
    sum += (choice.up_to - before) * static_cast<double>(choice.least + choice.most) / 2;
    before = choice.up_to;
  }
  return sum;
}

void append_value(std::string& out, Bytes row, Bytes field, uint64_t version, size_t bytes,
                  double share) {
  const size_t at = out.size();
  out.resize(at + bytes);
  char* to = out.data() + at;
  const size_t stated = std::min<size_t>(8, bytes);
  std::memcpy(to, &version, stated);
  if (bytes <= 8) return;
  const auto fresh = std::clamp<size_t>(
      static_cast<size_t>(std::ceil(static_cast<double>(bytes) * share)), 8, bytes);
  Random random(mix_in(mix_in(version, row), field));
  for (size_t i = 8; i < fresh; i += 8) {
    const uint64_t word = random.next();
    std::memcpy(to + i, &word, std::min<size_t>(8, fresh - i));
  }
  for (size_t i = fresh; i < bytes;) {
    const size_t n = std::min(i, bytes - i);  // a multiple of `fresh`, or the rest
    std::memcpy(to + i, to, n);
    i += n;
  }
}

bool is_value_of(Bytes value, Bytes row, Bytes field, double share, std::string& scratch) {
  uint64_t version = 0;
  std::memcpy(&version, value.data(), std::min<size_t>(8, value.size()));
  scratch.clear();
  append_value(scratch, row, field, version, value.size(), share);
  return scratch == value;
}

}  // namespace cellar::bench
