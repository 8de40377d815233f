#include <cstring>

#include "engine/filter/row_filter.h"
#include "io/base/check.h"
#include "net/client/codec/encode.h"
#include "net/server/requests/index_spec_codec.h"
#include "net/server/requests/table_codec.h"
#include "net/wire/index_codec.h"
#include "net/wire/point_codec.h"
#include "net/wire/read_codec.h"
#include "net/wire/write_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::fuzz {

using wire::Frame;
using wire::FrameReader;
namespace fb = wire::fb;

namespace {

bool inside(Bytes part, Bytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// Reads every byte that a handler would read, so that a sanitizer checks it.
void use_writes(const wire::DecodedWrites& writes, Bytes body) {
  for (size_t i = 0; i < writes.rows.size(); ++i) {
    const RowMutation row = writes.mutation(i);
    CHECK(inside(row.row, body));
    for (const Mutation& m : row.mutations) {
      CHECK(inside(m.family, body) && inside(m.qualifier, body) && inside(m.value, body));
    }
  }
}

template <class Request>
void decode_write(Bytes body) {
  const auto* request = wire::verified<Request>(body);
  if (request == nullptr) return;
  wire::DecodedWrites writes;
  if (wire::decode(*request, writes)) use_writes(writes, body);
}

// Counts the cells that pass a filter of small rows; pauses at arbitrary places.
class CountingSink final : public CellSink {
 public:
  Flow cell(const CellView& cell) override {
    bytes += cell.value.size() + cell.label.size();
    return ++cells % 3 == 0 ? Flow::pause : Flow::more;
  }
  Flow end_row(Bytes) override { return Flow::more; }
  uint64_t cells = 0;
  uint64_t bytes = 0;
};

// Compiles and runs every accepted filter: a row of a few columns, in small slices and little
// memory.
void run_filter(const FilterSpec& spec) {
  constexpr size_t kRowBytes = 1u << 20;
  const auto plan = engine::plan_filter(spec);
  if (!plan || !plan->filter) return;
  engine::RowFilter filter(plan->filter, kRowBytes);
  CountingSink sink;
  const auto finish = [&](engine::FilterStep step) {
    while (step == engine::FilterStep::yielded || step == engine::FilterStep::paused) {
      int64_t budget = 1 + static_cast<int64_t>(sink.cells % 50);
      step = filter.go_on(sink, budget);
    }
    return step == engine::FilterStep::done;
  };
  filter.begin_row("r");
  for (const Bytes family : {"e", "f"}) {
    for (const Bytes qualifier : {"", "q", "r"}) {
      if (filter.begin_column(family, qualifier) != engine::ColumnVerdict::take) continue;
      for (const int64_t timestamp_us : {2000, 1000}) {
        int64_t budget = 3;
        if (!finish(filter.cell({"r", family, qualifier, timestamp_us, "rvalue"}, sink, budget)))
          return;
      }
    }
  }
  int64_t budget = 1;
  if (finish(filter.end_row(sink, budget))) CHECK(filter.row_gave() == (sink.cells > 0));
}

template <class Request>
void decode_conditional(Bytes body) {
  const auto* request = wire::verified<Request>(body);
  if (request == nullptr) return;
  wire::DecodedConditional decoded;
  (void)wire::decode(*request, decoded);
}

template <class Request>
void decode_read(Bytes body) {
  const auto* request = wire::verified<Request>(body);
  if (request == nullptr) return;
  wire::DecodedRead read;
  if (!wire::decode(*request, read)) return;
  run_filter(read.filter);
  const KeyRange* last = nullptr;
  for (const KeyRange& range : read.spec.rows.ranges()) {
    CHECK(!range.empty() && (last == nullptr || last->end <= range.start));
    last = &range;
  }
}

void decode_index_read(Bytes body) {
  const auto* request = wire::verified<fb::ReadIndexRequest>(body);
  wire::DecodedIndexRead read;
  if (request == nullptr || !wire::decode(*request, read)) return;
  CHECK(read.filter.empty() || read.spec.whole_rows);
  run_filter(read.filter);
}

void decode_drop(Bytes body) {
  const auto* request = wire::verified<fb::DropRowRangeRequest>(body);
  wire::DecodedDrop drop;
  if (request != nullptr) (void)wire::decode(*request, drop);
}

// What is accepted is written again as the same request.
void decode_get(Bytes body) {
  const Bytes row = wire::row_of_get(body);
  wire::DecodedGet get;
  if (!wire::decode_get(body, get)) return;
  CHECK(row == get.row);
  std::string again;
  wire::append_get(again, get);
  wire::DecodedGet read;
  CHECK(wire::decode_get(again, read) && read.row == get.row && read.versions == get.versions &&
        read.columns.size() == get.columns.size());
}

void decode_put(Bytes body) {
  const Bytes row = wire::row_of_put(body);
  wire::DecodedWrites writes;
  if (!wire::decode_put(body, writes)) return;
  CHECK(row == writes.rows.front().row || row.empty());
  for (const Mutation& cell : writes.mutations) {
    CHECK(cell.value.size() <= body.size() && cell.qualifier.size() <= body.size());
  }
  if (writes.mutations.empty()) return;
  std::string again;
  wire::append_put(again, writes.mutation(0), writes.target.level);
  wire::DecodedWrites read;
  CHECK(wire::decode_put(again, read) && read.mutations.size() == writes.mutations.size());
}

void decode_table_changes(Bytes body) {
  const engine::TableMap none;
  if (const auto* request = wire::verified<fb::CreateTableRequest>(body)) {
    engine::TableSpec spec;
    (void)server::decode_create(*request, none, spec);
  }
  if (const auto* request = wire::verified<fb::AlterTableRequest>(body)) {
    engine::TableChange change;
    (void)server::decode_alter(*request, none, change);
  }
  engine::TableChange change;
  if (const auto* request = wire::verified<fb::CreateIndexRequest>(body)) {
    (void)server::decode_create_index(*request, none, change);
  }
  if (const auto* request = wire::verified<fb::AlterIndexRequest>(body)) {
    (void)server::decode_alter_index(*request, none, change);
  }
}

void decode(const Frame& frame) {
  switch (static_cast<fb::Op>(frame.header.op)) {
    case fb::Op::MutateRow:
      decode_conditional<fb::MutateRowRequest>(frame.body);
      return decode_write<fb::MutateRowRequest>(frame.body);
    case fb::Op::CheckAndMutateRow:
      return decode_conditional<fb::CheckAndMutateRowRequest>(frame.body);
    case fb::Op::ReadModifyWriteRow:
      return decode_conditional<fb::ReadModifyWriteRowRequest>(frame.body);
    case fb::Op::MutateRows:
      return decode_write<fb::MutateRowsRequest>(frame.body);
    case fb::Op::ReadRow:
      return decode_read<fb::ReadRowRequest>(frame.body);
    case fb::Op::ReadRows:
      return decode_read<fb::ReadRowsRequest>(frame.body);
    case fb::Op::ReadIndex:
      return decode_index_read(frame.body);
    case fb::Op::DropRowRange:
      return decode_drop(frame.body);
    case fb::Op::Get:
      return decode_get(frame.body);
    case fb::Op::Put:
      return decode_put(frame.body);
    default:
      return decode_table_changes(frame.body);
  }
}

void fuzz_wire(Bytes input) {
  wire::Preface preface;
  (void)wire::parse_preface(input, preface);
  constexpr uint32_t kMaxBody = 1u << 16;
  FrameReader frames(kMaxBody);
  size_t fed = 0;
  while (true) {
    const auto frame = frames.next();
    if (!frame) return;
    if (*frame != nullptr) {
      decode(**frame);
      continue;
    }
    if (fed == input.size()) return;
    const auto space = frames.space();
    const size_t n = std::min(space.size(), input.size() - fed);
    std::memcpy(space.data(), input.data() + fed, n);
    frames.received(n);
    fed += n;
    CHECK(frames.buffer_bytes() <= 4 * (kMaxBody + FrameReader::kInitialBytes));
  }
}

// Requests of each kind, made by the client's encoder.
void add_client_seeds(std::vector<std::string>& seeds) {
  namespace cl = client;
  cl::Encoder encoder(1);
  cl::Mutation row("row");
  row.set("f", "q", "value", 1000).with_ttl(5'000'000).delete_column("f", "r", 10, 20);
  row.set("f", "now", "v").delete_family("g").with_token(cl::Token{"token", 7});
  cl::CheckAndMutate check;
  check.row = "row";
  check.filter = cl::Filter::chain({cl::Filter::regex(cl::Filter::Kind::value_regex, "a.*"),
                                    cl::Filter::column_range("f", {.start = "a", .end = "b"})});
  check.then_mutation.set("f", "q", "v");
  check.else_mutation.delete_row();
  cl::ReadModifyWrite modify;
  modify.row = "row";
  modify.rules = {{"f", "q", "tail", 0}, {"f", "n", std::nullopt, 5}};
  cl::FamilySpec family;
  family.name = "f";
  family.rule_given = true;
  family.rule = cl::RetentionRule::any_of(
      {cl::RetentionRule::max_age_us(1'000'000), cl::RetentionRule::max_versions(3)});
  family.window = cl::WriteWindow{.past_us = 5, .future_us = 7, .whole_seconds = true};
  cl::TableSpec table;
  table.name = "t";
  table.families = {family};
  table.options.dead_slack = 0.5;
  table.splits = {"b", "m"};
  const cl::CallOptions options;
  cl::Mutation cells("row");
  cells.set("f", "q", "value", 1000).set("f", "q", "older", 500).set("g", "", "v");
  for (auto request :
       {encoder.mutate_row("t", row, options), encoder.mutate_row("t", cells, options),
        encoder.read_row("t", "row", cl::Filter::cells_per_column(2), {}),
        encoder.mutate_rows("t", {row, row}, {0, 1}, options),
        encoder.check_and_mutate("t", check, options), encoder.create_table(table),
        encoder.read_modify_write("t", modify, options)}) {
    seeds.push_back(std::move(request.frame));
  }
}

std::vector<std::string> wire_seeds() {
  const auto range = wire::filter_node(fb::FilterKind::TimestampRange, 1000, 2000, 5);
  const auto newest = wire::filter_node(fb::FilterKind::CellsPerColumnLimit, 2);
  const auto chain = wire::filter_node(fb::FilterKind::Chain, 0, 0, 0, 2);
  const wire::ReadRowsShape shape{
      .ranges = {{"a", "c"}, {"b", ""}}, .filter = {chain, range, newest}, .limit = 3};
  // A tree of every shape, whose expressions are the key of the row.
  const auto regex = [](fb::FilterKind kind) {
    return fb::FilterNode(0, 0, 0, fb::Span(0, 1), fb::Span(0, 0), fb::Span(0, 0), 0,
                          static_cast<uint8_t>(kind), 0, 0);
  };
  using K = fb::FilterKind;
  const auto node = [](K kind, uint32_t children, uint8_t flags = 0) {
    return wire::filter_node(kind, 0, 0, flags, children);
  };
  const std::vector<fb::FilterNode> tree = {node(K::Chain, 4),
                                            regex(K::RowRegex),
                                            node(K::Interleave, 3),
                                            node(K::PassAll, 0),
                                            node(K::Chain, 2),
                                            newest,
                                            node(K::Sink, 0),
                                            node(K::Condition, 3, 48),
                                            regex(K::QualifierRegex),
                                            node(K::StripValue, 0),
                                            regex(K::ApplyLabel),
                                            node(K::Chain, 2),
                                            range,
                                            newest,
                                            node(K::PassAll, 0)};
  std::vector<std::string> seeds = {
      wire::request_frame(fb::Op::ReadRow, 7, wire::read_row_body("t", "r", tree)),
      wire::request_frame(fb::Op::Hello, 1, ""),
      wire::request_frame(fb::Op::MutateRow, 2, wire::set_body("t", "r", "f", "q", "v", 1000)),
      wire::request_frame(fb::Op::ReadRow, 3, wire::read_row_body("t", "r", {newest})),
      wire::request_frame(fb::Op::ReadRows, 4, wire::read_rows_body("t", shape)),
      wire::request_frame(fb::Op::DropRowRange, 5, wire::drop_rows_body("t", "p")),
      wire::request_frame(fb::Op::CreateTable, 6, wire::create_table_body("t", {"f"}, {"m"})),
      wire::request_frame(fb::Op::ReadIndex, 8,
                          wire::read_index_body("t", "i",
                                                {.values = wire::PartRangeShape{"a", "b", 5},
                                                 .qualifier = "q",
                                                 .time = fb::TimeRangeRec(1000, 2000, 5, 0, 0, 0),
                                                 .keys = {"r"},
                                                 .whole_rows = true,
                                                 .filter = {newest},
                                                 .limit = 3,
                                                 .after = "p"})),
      wire::request_frame(
          fb::Op::CreateIndex, 9,
          wire::create_index_body("t", "i",
                                  {.parts = {fb::IndexPart::Value, fb::IndexPart::Time},
                                   .covered = {{"g", "p"}},
                                   .type = fb::IndexType::Int64,
                                   .max_age_us = 1000})),
  };
  add_client_seeds(seeds);
  return seeds;
}

}  // namespace

const FuzzTarget kWireTarget = {"wire", &fuzz_wire, &wire_seeds};

}  // namespace cellar::fuzz
