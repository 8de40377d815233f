// GetPlan: the filter of a Get, kept for the next one, which usually names the same columns.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/filter/compiled_filter.h"
#include "net/wire/point_codec.h"

namespace cellar::server {

struct GetPlan {
  std::vector<engine::ColumnName> columns;  // as requested; none: no plan yet
  uint32_t versions = 0;
  engine::FilterPlan plan;

  bool is_for(const wire::DecodedGet& get) const {
    return !columns.empty() && versions == get.versions &&
           std::ranges::equal(columns, get.columns, [](const auto& a, const auto& b) {
             return a.family == b.family && a.qualifier == b.qualifier;
           });
  }
  void keep(const wire::DecodedGet& get, engine::FilterPlan compiled) {
    columns.clear();
    for (const auto& one : get.columns) {
      columns.push_back({std::string(one.family), std::string(one.qualifier)});
    }
    versions = get.versions;
    plan = std::move(compiled);
  }
};

}  // namespace cellar::server
