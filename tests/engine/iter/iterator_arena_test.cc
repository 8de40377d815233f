// IteratorArena: destroys what was made in it, whether inside its buffer or outside.
#include "engine/iter/iterator_arena.h"

#include <gtest/gtest.h>

#include "tests/support/vector_iterator.h"

namespace cellar::engine {
namespace {

template <size_t kBytes>
struct Counted final : EntryIterator {
  explicit Counted(int& count) : living(count) { ++living; }
  ~Counted() override { --living; }
  Step seek(Bytes) override { return Step::end; }
  Step seek_before(Bytes) override { return Step::end; }
  Step next() override { return Step::end; }
  Step resume() override { return Step::end; }
  void collect(std::vector<BlockRequest*>&) override {}
  Bytes key() const override { return {}; }
  Bytes value() const override { return {}; }
  const Error& error() const override { std::abort(); }
  int& living;
  char more[kBytes];
};

TEST(IteratorArena, DestroysWhatItMadeInsideAndBeside) {
  int living = 0;
  {
    IteratorArena arena;
    for (int round = 0; round < 2; ++round) {
      // some of them outside the buffer
      for (int i = 0; i < 10; ++i) arena.make<Counted<500>>(living);
      arena.make<Counted<2 * IteratorArena::kInlineBytes>>(living);
      arena.make<Counted<1>>(living);
      EXPECT_EQ(living, 12);
      if (round == 0) arena.clear();
      EXPECT_EQ(living, round == 0 ? 0 : 12);
    }
    auto* entries = arena.make<VectorIterator>(EntryVector{{"a", "1"}, {"b", "2"}});
    EXPECT_EQ(entries->seek("b"), Step::ready);
    EXPECT_EQ(entries->value(), "2");
  }
  EXPECT_EQ(living, 0);
}

}  // namespace
}  // namespace cellar::engine
