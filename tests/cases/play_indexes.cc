// Steps of indexes.
#include <algorithm>

#include "tests/cases/player.h"
#include "tests/cases/translate.h"

namespace cellar::cases {
namespace {

constexpr int64_t kLookUs = 2'000;
constexpr int kMostLooks = 30'000;  // a minute

struct Page {
  std::vector<ReadCell> cells;
  int64_t hits = 0;
  std::string position;  // of the last hit; empty: there is none
};

}  // namespace

Player::Answer Player::play_index(const Step& step) {
  const auto& object = step.value.as_object();
  const std::string table(object.at("table").as_string());
  if (step.verb == "create_index") {
    TRY(const client::IndexSpec index, parse_index(object));
    if (auto made = client().create_index(table, index); !made) return Played{made.error(), ""};
    return until_ready(table, index.name);
  }
  if (step.verb == "alter_index") {
    TRY(const client::AlterIndex change, parse_index_change(object));
    if (auto made = client().alter_index(change); !made) return Played{made.error(), ""};
    return until_ready(table, change.name);
  }
  if (step.verb == "drop_index") {
    const auto dropped =
        client().drop_index(table, std::string_view(object.at("name").as_string()));
    return dropped ? Played() : Played{dropped.error(), ""};
  }
  return read_index(step);
}

// The time of the node does not pass meanwhile.
Player::Answer Player::until_ready(const std::string& table, const std::string& name) {
  for (int looks = 0; looks < kMostLooks; ++looks) {
    const auto indexes = client().describe_indexes(table);
    if (!indexes) return Played{indexes.error(), ""};
    const auto found = std::ranges::find_if(
        *indexes, [&](const client::IndexDescription& each) { return each.index.name == name; });
    if (found == indexes->end()) return Played{{}, fmt::format("index '{}' is not there", name)};
    if (found->ready) return Played();
    client().sleep_us(kLookUs);
  }
  return Played{{}, fmt::format("index '{}' does not become ready", name)};
}

// Whole, and hit by hit, each read resumed behind the last one.
Player::Answer Player::read_index(const Step& step) {
  const auto& object = step.value.as_object();
  const std::string table(object.at("table").as_string());
  TRY(const client::ReadIndex request, parse_read_index(object));
  const auto page_of = [&](const client::ReadIndex& read) -> Result<Page> {
    Page page;
    client::ReadStream stream = client().read_index(table, read);
    while (true) {
      TRY(const client::CellBlock block, client().next(stream));
      if (block.empty()) return page;
      if (!block.position().empty()) page.position = block.position();
      for (const client::RowPart& row : block.rows()) {
        page.hits += row.complete ? 1 : 0;
        collect(page.cells, row.key, row.cells);
      }
    }
  };
  const auto whole = page_of(request);
  if (!whole) return Played{whole.error(), ""};
  if (step.expect == nullptr) return Played();
  std::string difference = compare_cells(whole->cells, *step.expect);
  if (!difference.empty()) return Played{{}, std::move(difference)};

  client::ReadIndex rest = request;
  std::vector<ReadCell> cells;
  int64_t hits = 0;
  for (rest.limit = 1; hits < request.limit.value_or(INT64_MAX);) {
    auto page = page_of(rest);
    if (!page) return Played{page.error(), ""};
    if (page->hits == 0) break;
    if (page->hits != 1) return Played{{}, fmt::format("limit 1 gives {} hits", page->hits)};
    cells.insert(cells.end(), page->cells.begin(), page->cells.end());
    rest.after = std::move(page->position);
    if (++hits > whole->hits) break;
  }
  difference = compare_cells(cells, *step.expect);
  return Played{{}, difference.empty() ? "" : "read hit by hit: " + difference};
}

}  // namespace cellar::cases
