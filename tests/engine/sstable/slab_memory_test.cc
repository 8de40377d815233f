#include "engine/sstable/slab_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

// Slots in use, filled with a byte.
class Slots {
 public:
  ~Slots() {
    for (const auto& [at, one] : used_) memory_->free({at, one.slab});
  }
  void* add(size_t bytes, char fill) {
    const SlabSlot slot = memory_->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slot.at) % 64, 0u);
    EXPECT_FALSE(used_.contains(slot.at));
    std::memset(slot.at, fill, bytes);
    used_[slot.at] = {slot.slab, bytes, fill};
    used_bytes_ += bytes;
    return slot.at;
  }
  void remove(void* at) {
    const Used one = used_.at(at);
    expect_whole(at);
    used_.erase(at);
    used_bytes_ -= one.bytes;
    memory_->free({at, one.slab});
  }
  // Its slab is not emptied until free_left().
  SlabSlot leave(void* at) {
    const Used one = used_.at(at);
    used_.erase(at);
    used_bytes_ -= one.bytes;
    memory_->leave(*one.slab);
    return {at, one.slab};
  }
  bool empty_a_slab() {
    return memory_->empty_slab([&](void* from, const SlabSlot& to) {
      const auto it = used_.find(from);
      if (it == used_.end() || it->second.fill == kPinned) return false;
      Used moved = it->second;
      std::memcpy(to.at, from, moved.bytes);
      moved.slab = to.slab;
      used_.erase(it);
      EXPECT_TRUE(used_.emplace(to.at, moved).second);
      return true;
    });
  }
  void expect_whole(void* at) const {
    const Used& one = used_.at(at);
    const char* bytes = static_cast<const char*>(at);
    const auto other = [&](char byte) { return byte != one.fill; };
    EXPECT_EQ(std::find_if(bytes, bytes + one.bytes, other), bytes + one.bytes);
  }
  void* any(Random& random) const {
    return std::next(used_.begin(), static_cast<ptrdiff_t>(random.below(used_.size())))->first;
  }
  size_t count() const { return used_.size(); }
  size_t used_bytes() const { return used_bytes_; }
  SlabMemory& memory() { return *memory_; }
  static constexpr char kPinned = 'P';

 private:
  struct Used {
    Slab* slab = nullptr;
    size_t bytes = 0;
    char fill = 0;
  };
  SlabMemoryPtr memory_{new SlabMemory()};
  std::map<void*, Used> used_;
  size_t used_bytes_ = 0;
};

TEST(SlabMemory, ASlotHasAtMostAQuarterMoreThanWasAskedFor) {
  for (size_t bytes = SlabMemory::kLeastSlotBytes; bytes <= SlabMemory::kMostSlotBytes;
       bytes += 131) {
    Slots slots;
    size_t count = 0;
    while (count == 0 || slots.memory().held_bytes() < 2u << 20) {
      slots.add(bytes, 'a');
      ++count;
    }
    ASSERT_GT(count * (bytes + bytes / 4), 1'570'000u) << bytes;
  }
}

TEST(SlabMemory, AnEmptySlabIsGivenBack) {
  Slots slots;
  std::vector<void*> all;
  for (int i = 0; i < 1000; ++i) all.push_back(slots.add(4000, 'a'));
  EXPECT_GE(slots.memory().held_bytes(), 4'000'000u);
  EXPECT_LE(slots.memory().held_bytes(), 4'400'000u);
  for (void* at : all) slots.remove(at);
  EXPECT_EQ(slots.memory().held_bytes(), 0u);
}

TEST(SlabMemory, AboutTheSameSizeUsesAGap) {
  Slots slots;
  slots.add(1000, 'a');
  void* gap = slots.add(1000, 'b');
  const size_t held = slots.memory().held_bytes();
  slots.remove(gap);
  EXPECT_EQ(slots.add(920, 'c'), gap);
  EXPECT_EQ(slots.memory().held_bytes(), held);
  slots.add(500, 'd');
  EXPECT_GT(slots.memory().held_bytes(), held);
}

TEST(SlabMemory, GapsAreClosedByMovingWhatIsBetweenThem) {
  Slots slots;
  std::vector<void*> all;
  for (int i = 0; i < 1000; ++i) all.push_back(slots.add(4000, static_cast<char>('a' + i % 20)));
  const size_t full = slots.memory().held_bytes();
  for (size_t i = 0; i < all.size(); ++i)
    if (i % 4 != 0) slots.remove(all[i]);
  EXPECT_EQ(slots.memory().held_bytes(), full) << "every slab has a slot in use";
  while (slots.empty_a_slab()) continue;
  EXPECT_LE(slots.memory().held_bytes(), full / 4 + 128 * 1024);
  Random random(1);
  while (slots.count() > 0) slots.remove(slots.any(random));
}

TEST(SlabMemory, WhatMayNotMoveKeepsItsSlab) {
  Slots slots;
  std::vector<void*> all;
  for (int i = 0; i < 1000; ++i)
    all.push_back(slots.add(4000, i % 100 == 0 ? Slots::kPinned : 'a'));
  for (size_t i = 0; i < all.size(); ++i)
    if (i % 100 != 0) slots.remove(all[i]);
  const size_t held = slots.memory().held_bytes();
  EXPECT_FALSE(slots.empty_a_slab());
  EXPECT_EQ(slots.memory().held_bytes(), held);
  for (size_t i = 0; i < all.size(); i += 100) slots.expect_whole(all[i]);
}

TEST(SlabMemory, ASlotThatWasLeftOutlivesTheOwner) {
  SlabSlot left;
  {
    Slots slots;
    left = slots.leave(slots.add(1000, 'x'));
    slots.add(1000, 'y');
    EXPECT_EQ(slots.memory().left_bytes(), slots.memory().held_bytes());
  }
  EXPECT_EQ(std::string(static_cast<const char*>(left.at), 1000), std::string(1000, 'x'));
  SlabMemory::free_left(left);
}

TEST(SlabMemory, WhateverComesAndGoesContentsStayAndAllIsGivenBack) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Slots slots;
    std::vector<SlabSlot> left;
    size_t typical = 1000;
    for (int i = 0; i < 20'000; ++i) {
      if (random.below(1000) == 0) typical = 1 + random.below(SlabMemory::kMostSlotBytes * 3 / 4);
      const uint64_t what = random.below(100);
      if (what < 45 && slots.used_bytes() < 8u << 20) {
        const size_t bytes = 1 + typical + random.below(typical / 3 + 1);
        const char fill = static_cast<char>(random.below(10) == 0 ? Slots::kPinned : 'a' + i % 20);
        slots.add(std::min(bytes, SlabMemory::kMostSlotBytes), fill);
      } else if (what < 90 && slots.count() > 0) {
        slots.remove(slots.any(random));
      } else if (what < 92 && slots.count() > 0 && left.size() < 8) {
        left.push_back(slots.leave(slots.any(random)));
      } else if (what < 94 && !left.empty()) {
        SlabMemory::free_left(left.back());
        left.pop_back();
      } else {
        const size_t before = slots.memory().held_bytes();
        ASSERT_EQ(slots.empty_a_slab(), slots.memory().held_bytes() < before);
      }
      ASSERT_GE(slots.memory().held_bytes(), slots.used_bytes());
    }
    while (!left.empty()) {
      SlabMemory::free_left(left.back());
      left.pop_back();
    }
    EXPECT_EQ(slots.memory().left_bytes(), 0u);
    while (slots.count() > 0) slots.remove(slots.any(random));
    EXPECT_EQ(slots.memory().held_bytes(), 0u);
  }
}

}  // namespace
}  // namespace cellar::engine
