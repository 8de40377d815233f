// Strong<Tag, Rep>: a number type without implicit conversions, so that ids cannot be mixed up.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstddef>
#include <functional>

namespace cellar {

template <class Tag, class Rep>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  constexpr explicit Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const Strong&) const = default;

  template <class H>
  friend H AbslHashValue(H h, Strong s) {
    return H::combine(std::move(h), s.value_);
  }
  friend std::size_t hash_value(Strong s) { return std::hash<Rep>{}(s.value_); }

 private:
  Rep value_{};
};

}  // namespace cellar

template <class Tag, class Rep>
struct std::hash<cellar::Strong<Tag, Rep>> {
  size_t operator()(cellar::Strong<Tag, Rep> s) const { return std::hash<Rep>{}(s.value()); }
};

template <class Tag, class Rep>
struct fmt::formatter<cellar::Strong<Tag, Rep>> : fmt::formatter<Rep> {
  template <class Context>
  auto format(cellar::Strong<Tag, Rep> s, Context& context) const {
    return fmt::formatter<Rep>::format(s.value(), context);
  }
};
