// Indexes against a scripted server: the requests, their answers, and how a read resumes.
#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

using Kind = wire::FrameKind;

struct Hit {
  std::string row, value;
  bool continued = false;
  bool complete = true;
};

// A chunk of hits of one cell each, f:q.
std::string hits_body(const std::vector<Hit>& hits, const std::string& position) {
  flatbuffers::FlatBufferBuilder b;
  wire::ArenaBuilder bytes;
  std::vector<fb::RowRec> rows;
  std::vector<fb::CellRec> cells;
  const fb::Span column = bytes.add("fq");
  for (const Hit& hit : hits) {
    rows.emplace_back(bytes.add(hit.row), 1u,
                      static_cast<uint16_t>((hit.continued ? 1 : 0) | (hit.complete ? 2 : 0)),
                      uint16_t{0});
    const fb::Span value = bytes.add(hit.value);
    cells.emplace_back(int64_t{7000}, column.at(), column.at() + 1, value.at(), value.size(),
                       uint16_t{1}, uint8_t{1}, uint8_t{0}, uint16_t{0}, uint16_t{0});
  }
  const auto row_vector = b.CreateVectorOfStructs(rows);
  const auto cell_vector = b.CreateVectorOfStructs(cells);
  const auto arena = bytes.finish(b);
  const auto at = position.empty() ? 0 : wire::byte_vector(b, position);
  fb::ReadChunkBuilder out(b);
  out.add_rows(row_vector);
  out.add_cells(cell_vector);
  out.add_arena(arena);
  if (!position.empty()) out.add_position(at);
  return std::string(wire::finish_body(b, out.Finish()));
}

// A refusal that a repetition may heal.
std::string passing(const wire::FrameHeader& request, Errc code) {
  flatbuffers::FlatBufferBuilder b;
  return frame(Kind::reply, request, wire::build_status(b, Error(code, "not now").retry_after(1)),
               wire::kFrameError);
}

std::string text_in(const flatbuffers::Vector<uint8_t>* arena, const fb::Span* span) {
  if (span == nullptr) return "(none)";
  return std::string(wire::bytes_of(arena).substr(span->at(), span->size()));
}

class ClientIndexTest : public ClientBed {
 protected:
  ClientIndexTest() {
    ClientOptions options;
    options.retry.backoff_min_us = options.retry.backoff_max_us = 1'000;
    options.wait_for_connection = true;
    client(options);
  }
  template <class T, class Start>
  Result<T> wait(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> r) { result.emplace(std::move(r)); });
    CHECK(world_.run_until([&] { return result.has_value(); }), "the operation never ended");
    return *std::move(result);
  }
  // "row=value" of each complete hit, joined by blanks; an error ends it.
  std::string read(const ReadIndex& request) {
    ReadStream stream = client_->read_index("t", request);
    std::string seen;
    while (true) {
      const auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
      if (!block) return seen + "! " + std::string(errc_name(block.error().code));
      if (block->empty()) return seen;
      for (const RowPart& part : block->rows()) {
        if (!part.continued) seen += fmt::format("{}=", part.key);
        for (const Cell& cell : part.cells) seen += cell.value;
        if (part.complete) seen += ' ';
      }
    }
  }
  // What follows each request of a read, in their order.
  void answers(std::vector<std::function<std::string(const Received&)>> steps) {
    server_.script = [this, steps = std::move(steps), next = size_t{0}](const Received& r) mutable {
      if (r.header.kind != Kind::request) return std::string();
      reads_.emplace_back(r);
      CHECK(next < steps.size(), "an unexpected request");
      return steps[next++](r);
    };
  }
  static ReadIndex of(std::string index) {
    ReadIndex read;
    read.index = std::move(index);
    return read;
  }

  std::vector<BodyOf<fb::ReadIndexRequest>> reads_;
};

TEST_F(ClientIndexTest, ARequestHasTheConditionsThatWereGiven) {
  answers({[](const Received& r) {
    EXPECT_EQ(r.table, "t");
    EXPECT_EQ(r.header.op, static_cast<uint16_t>(fb::Op::ReadIndex));
    return frame(Kind::end, r.header, {});
  }});
  ReadIndex request = of("i");
  request.values = RowRange{"a", "c", true, true};
  request.qualifier = "";
  request.start_us = 1000;
  request.keys = {"r1", "r2"};
  request.ranges = {{"s", std::nullopt}};
  request.whole_rows = true;
  request.filter = Filter::cells_per_column(1);
  request.limit = 7;
  request.reversed = true;
  request.explain = true;
  request.credits = 3;
  request.after = "place";
  EXPECT_EQ(read(request), "");
  ASSERT_EQ(reads_.size(), 1u);
  const auto& sent = reads_[0];
  EXPECT_EQ(wire::text(sent->index()), "i");
  EXPECT_EQ(sent->table(), nullptr);
  EXPECT_EQ(sent->value(), nullptr);
  ASSERT_NE(sent->values(), nullptr);
  EXPECT_EQ(text_in(sent->arena(), &sent->values()->start()), "a");
  EXPECT_EQ(text_in(sent->arena(), &sent->values()->end()), "c");
  EXPECT_EQ(sent->values()->flags(), 1 | 2 | 4 | 8);
  EXPECT_EQ(text_in(sent->arena(), sent->qualifier()), "");
  EXPECT_EQ(sent->qualifiers(), nullptr);
  ASSERT_NE(sent->time(), nullptr);
  EXPECT_EQ(sent->time()->start(), 1000);
  EXPECT_EQ(sent->time()->flags(), static_cast<uint8_t>(fb::RangeFlag::HasStart));
  ASSERT_EQ(sent->keys()->size(), 2u);
  EXPECT_EQ(text_in(sent->arena(), sent->keys()->Get(1)), "r2");
  ASSERT_EQ(sent->ranges()->size(), 1u);
  EXPECT_TRUE(sent->whole_rows());
  EXPECT_EQ(sent->filter()->size(), 1u);
  EXPECT_EQ(sent->limit(), 7);
  EXPECT_TRUE(sent->reversed());
  EXPECT_TRUE(sent->explain());
  EXPECT_EQ(sent->credits(), 3u);
  EXPECT_EQ(wire::bytes_of(sent->after()), "place");
}

TEST_F(ClientIndexTest, WhatWasNotGivenIsAbsent) {
  answers({[](const Received& r) { return frame(Kind::end, r.header, {}); }});
  ReadIndex request = of("i");
  request.value = "";
  EXPECT_EQ(read(request), "");
  const auto& sent = reads_[0];
  EXPECT_EQ(text_in(sent->arena(), sent->value()), "");
  EXPECT_EQ(sent->values(), nullptr);
  EXPECT_EQ(sent->qualifier(), nullptr);
  EXPECT_EQ(sent->time(), nullptr);
  EXPECT_EQ(sent->keys(), nullptr);
  EXPECT_EQ(sent->ranges(), nullptr);
  EXPECT_EQ(sent->filter(), nullptr);
  EXPECT_FALSE(sent->limit());
  EXPECT_EQ(sent->after(), nullptr);
}

TEST_F(ClientIndexTest, EachHitIsARowAlsoOfTheSameKeyInARow) {
  answers({[](const Received& r) {
    return frame(Kind::chunk, r.header, hits_body({{"r", "3"}, {"r", "2"}, {"s", "2"}}, "p1")) +
           frame(Kind::chunk, r.header, hits_body({{"r", "1"}}, "p2")) +
           frame(Kind::end, r.header, {});
  }});
  ReadStream stream = client_->read_index("t", of("i"));
  const auto first = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
  ASSERT_TRUE(first) << first.error().to_string();
  ASSERT_EQ(first->rows().size(), 3u);
  EXPECT_EQ(first->rows()[0].key, "r");
  EXPECT_EQ(first->rows()[1].key, "r");
  EXPECT_EQ(first->rows()[1].cells[0].value, "2");
  EXPECT_EQ(first->position(), "p1");
  const auto second = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
  EXPECT_EQ(second->position(), "p2");
}

TEST_F(ClientIndexTest, ALostConnectionIsResumedBehindTheLastPosition) {
  answers({[](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"a", "1"}, {"b", "1"}}, "p1")) +
                    frame(Kind::chunk, r.header, hits_body({{"c", "1"}, {"d", "1"}}, "p2"));
           },
           [](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"e", "1"}}, "p3")) +
                    frame(Kind::end, r.header, {});
           }});
  ReadIndex request = of("i");
  request.limit = 10;
  request.value = "1";
  request.whole_rows = true;
  std::string seen;
  ReadStream stream = client_->read_index("t", request);
  settle(100'000);
  server_.cut();
  while (true) {
    const auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
    ASSERT_TRUE(block) << block.error().to_string();
    if (block->empty()) break;
    for (const RowPart& part : block->rows()) seen += part.key;
  }
  EXPECT_EQ(seen, "abcde");
  ASSERT_EQ(reads_.size(), 2u);
  EXPECT_EQ(wire::bytes_of(reads_[1]->after()), "p2");
  EXPECT_EQ(reads_[1]->limit(), 6);
  EXPECT_TRUE(reads_[1]->whole_rows());
  EXPECT_EQ(text_in(reads_[1]->arena(), reads_[1]->value()), "1");
}

TEST_F(ClientIndexTest, TransientErrorsAreResumedEachBehindTheLastHit) {
  answers({[](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"a", "1"}, {"a", "0"}}, "p1")) +
                    passing(r.header, Errc::unavailable);
           },
           [](const Received& r) { return passing(r.header, Errc::aborted); },
           [](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"b", "1"}}, "p2")) +
                    passing(r.header, Errc::aborted);
           },
           [](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"c", "1"}}, "p3")) +
                    frame(Kind::end, r.header, {});
           }});
  ReadIndex request = of("i");
  request.limit = 5;
  request.reversed = true;
  EXPECT_EQ(read(request), "a=1 a=0 b=1 c=1 ");
  ASSERT_EQ(reads_.size(), 4u);
  EXPECT_EQ(reads_[0]->after(), nullptr);
  EXPECT_EQ(wire::bytes_of(reads_[1]->after()), "p1");
  EXPECT_EQ(reads_[1]->limit(), 3);
  EXPECT_EQ(wire::bytes_of(reads_[2]->after()), "p1");
  EXPECT_EQ(reads_[2]->limit(), 3);
  EXPECT_EQ(wire::bytes_of(reads_[3]->after()), "p2");
  EXPECT_EQ(reads_[3]->limit(), 2);
  EXPECT_TRUE(reads_[3]->reversed());
}

TEST_F(ClientIndexTest, WhatWasLimitedAndIsCompleteIsNotAskedForAgain) {
  answers({[](const Received& r) {
    return frame(Kind::chunk, r.header, hits_body({{"a", "1"}, {"b", "1"}}, "p1")) +
           passing(r.header, Errc::unavailable);
  }});
  ReadIndex request = of("i");
  request.limit = 2;
  EXPECT_EQ(read(request), "a=1 b=1 ");
  EXPECT_EQ(reads_.size(), 1u);
}

TEST_F(ClientIndexTest, AHitThatHasNotEndedIsReadAgain) {
  answers({[](const Received& r) {
             return frame(Kind::chunk, r.header,
                          hits_body({{"a", "1"}, {"b", "be", false, false}}, "p1")) +
                    frame(Kind::chunk, r.header, hits_body({{"b", "gun", true, false}}, "")) +
                    passing(r.header, Errc::unavailable);
           },
           [](const Received& r) {
             return frame(Kind::chunk, r.header, hits_body({{"b", "an", false, false}}, "")) +
                    frame(Kind::chunk, r.header, hits_body({{"b", "ew", true, true}}, "p2")) +
                    frame(Kind::end, r.header, {});
           }});
  EXPECT_EQ(read(of("i")), "a=1 b=anew ");
  EXPECT_EQ(wire::bytes_of(reads_[1]->after()), "p1");
  EXPECT_FALSE(reads_[1]->limit());
}

TEST_F(ClientIndexTest, WhatIsRefusedIsNotRepeated) {
  answers({[](const Received& r) {
    return error_frame(r.header, Errc::failed_precondition, "index 'i' is not ready: 40% done");
  }});
  EXPECT_EQ(read(of("i")), "! FAILED_PRECONDITION");
}

TEST_F(ClientIndexTest, HitsWithoutAPositionAreAFaultOfTheServer) {
  client();  // one attempt
  answers({[](const Received& r) {
    return frame(Kind::chunk, r.header, hits_body({{"a", "1"}}, "")) +
           frame(Kind::end, r.header, {});
  }});
  EXPECT_TRUE(read(of("i")).starts_with("! "));
}

TEST_F(ClientIndexTest, ADefinitionIsSentAndAnsweredWhole) {
  IndexSpec index;
  index.name = "i";
  index.family = "f";
  index.qualifier = "q";
  index.parts = {IndexPart::value, IndexPart::time};
  index.type = IndexType::int64;
  index.match = IndexMatch::any;
  index.covered = {{"g", "n"}, {"f", ""}};
  index.max_age_us = 5000;
  index.tighter_base = TighterBase::refuse;
  // The server answers with the definition that it was sent.
  server_.script = [](const Received& r) {
    const BodyOf<fb::CreateIndexRequest> request(r);
    const fb::IndexSpec& from = *request->index();
    flatbuffers::FlatBufferBuilder b;
    const auto name = b.CreateString(from.name());
    const auto family = b.CreateString(from.family());
    const auto qualifier = wire::byte_vector(b, wire::bytes_of(from.qualifier()));
    const auto parts = b.CreateVector(from.parts()->data(), from.parts()->size());
    std::vector<fb::IndexColumnRec> covered;
    for (const auto* column : *from.covered()) covered.push_back(*column);
    const auto columns = b.CreateVectorOfStructs(covered);
    const auto arena = wire::byte_vector(b, wire::bytes_of(from.arena()));
    const auto spec =
        fb::CreateIndexSpec(b, name, family, qualifier, parts, from.type(), from.match(), columns,
                            arena, from.max_age_us(), from.tighter_base());
    const auto specs = b.CreateVector(&spec, 1);
    const auto table = b.CreateString(request->table());
    fb::TableDescriptionBuilder out(b);
    out.add_name(table);
    out.add_indexes(specs);
    return frame(Kind::reply, r.header, wire::finish_body(b, out.Finish()));
  };
  const auto made = wait<TableDescription>(
      [&](auto done) { client_->async_create_index("t", index, std::move(done)); });
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->name, "t");
  ASSERT_EQ(made->indexes.size(), 1u);
  const IndexSpec& told = made->indexes[0];
  EXPECT_EQ(told.name, "i");
  EXPECT_EQ(told.family, "f");
  EXPECT_EQ(told.qualifier, "q");
  EXPECT_EQ(told.parts, index.parts);
  EXPECT_EQ(told.type, IndexType::int64);
  EXPECT_EQ(told.match, IndexMatch::any);
  EXPECT_EQ(told.covered, index.covered);
  EXPECT_EQ(told.max_age_us, 5000);
  EXPECT_EQ(told.tighter_base, TighterBase::refuse);
}

TEST_F(ClientIndexTest, AnAlterationNamesWhatChanges) {
  std::vector<BodyOf<fb::AlterIndexRequest>> sent;
  server_.script = [&](const Received& r) {
    sent.emplace_back(r);
    return frame(Kind::reply, r.header, {});
  };
  AlterIndex change;
  change.table = "t";
  change.name = "i";
  const auto alter = [&] {
    ASSERT_TRUE(wait<TableDescription>(
        [&](auto done) { client_->async_alter_index(change, std::move(done)); }));
  };
  change.tighter_base = TighterBase::follow;
  alter();
  change.tighter_base.reset();
  change.max_age_given = true;
  alter();
  change.max_age_us = 7000;
  alter();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(wire::text(sent[0]->table()), "t");
  EXPECT_EQ(wire::text(sent[0]->name()), "i");
  EXPECT_FALSE(sent[0]->max_age_given());
  EXPECT_EQ(sent[0]->tighter_base(), fb::TighterBase::Follow);
  EXPECT_TRUE(sent[1]->max_age_given());
  EXPECT_FALSE(sent[1]->max_age_us());
  EXPECT_FALSE(sent[1]->tighter_base());
  EXPECT_EQ(sent[2]->max_age_us(), 7000);
}

std::string check_body(uint64_t rows_seen, uint64_t missing) {
  flatbuffers::FlatBufferBuilder b;
  wire::ArenaBuilder bytes;
  const std::vector<fb::Span> spans = {bytes.add("r1"), bytes.add("r2")};
  const auto samples = b.CreateVectorOfStructs(spans);
  const auto arena = bytes.finish(b);
  fb::CheckIndexReplyBuilder out(b);
  out.add_cells(5);
  out.add_missing(missing);
  out.add_samples(samples);
  out.add_arena(arena);
  out.add_rows_seen(rows_seen);
  out.add_rows_about(9);
  return std::string(wire::finish_body(b, out.Finish()));
}

TEST_F(ClientIndexTest, ACheckTellsHowFarItIsAndWhatDiffers) {
  server_.script = [](const Received& r) {
    EXPECT_TRUE(BodyOf<fb::CheckIndexRequest>(r)->progress());
    return frame(Kind::chunk, r.header, check_body(3, 0)) +
           frame(Kind::chunk, r.header, check_body(6, 1)) +
           frame(Kind::reply, r.header, check_body(8, 2));
  };
  std::vector<uint64_t> seen;
  const auto told = wait<IndexCheck>([&](auto done) {
    client_->async_check_index(
        {"t", "i"}, [&](const IndexCheck& so_far) { seen.push_back(so_far.rows_seen); }, {},
        std::move(done));
  });
  ASSERT_TRUE(told) << told.error().to_string();
  EXPECT_EQ(seen, (std::vector<uint64_t>{3, 6}));
  EXPECT_EQ(told->rows_seen, 8u);
  EXPECT_EQ(told->rows_about, 9u);
  EXPECT_EQ(told->cells, 5u);
  EXPECT_EQ(told->missing, 2u);
  EXPECT_FALSE(told->equal());
  EXPECT_EQ(told->samples, (std::vector<std::string>{"r1", "r2"}));
}

TEST_F(ClientIndexTest, AChangeThatMayHaveBeenMadeIsNotRepeated) {
  size_t requests = 0;
  server_.script = [&](const Received&) {
    ++requests;
    server_.cut();
    return std::string();
  };
  const auto dropped = wait<TableDescription>(
      [&](auto done) { client_->async_drop_index("t", "i", std::move(done)); });
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().applied, Applied::maybe_applied);
  EXPECT_EQ(requests, 1u);
}

}  // namespace
}  // namespace cellar::client
