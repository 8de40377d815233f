#include "net/client/api/filter.h"

namespace cellar::client {

Filter Filter::condition(Filter predicate, std::optional<Filter> then,
                         std::optional<Filter> otherwise) {
  Filter f = of(Kind::condition);
  f.children.push_back(std::move(predicate));
  f.has_then = then.has_value();
  f.has_else = otherwise.has_value();
  if (then) f.children.push_back(*std::move(then));
  if (otherwise) f.children.push_back(*std::move(otherwise));
  return f;
}

Filter Filter::row_sample(double share) {
  Filter f = of(Kind::row_sample);
  f.sample = share;
  return f;
}

Filter Filter::column_range(std::string family, Bounds bounds) {
  Filter f = of(Kind::column_range);
  f.family = std::move(family);
  f.bounds = std::move(bounds);
  return f;
}

Filter Filter::value_range(Bounds bounds) {
  Filter f = of(Kind::value_range);
  f.bounds = std::move(bounds);
  return f;
}

Filter Filter::time_range(std::optional<int64_t> start_us, std::optional<int64_t> end_us) {
  Filter f = of(Kind::time_range);
  f.start_us = start_us;
  f.end_us = end_us;
  return f;
}

Filter Filter::counted(Kind kind, int64_t count) {
  Filter f = of(kind);
  f.count = count;
  return f;
}

}  // namespace cellar::client
