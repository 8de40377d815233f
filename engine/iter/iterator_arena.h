// IteratorArena: storage of the iterators of one cursor: inline in the cursor as long as there is
// room, then on the heap. All are destroyed with the arena or by clear().
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <new>
#include <utility>

#include "engine/iter/entry_iterator.h"

namespace cellar::engine {

class IteratorArena {
 public:
  static constexpr size_t kInlineBytes = 2560;  // a memtable's and two tables' iterators

  IteratorArena() = default;
  ~IteratorArena() { clear(); }
  IteratorArena(const IteratorArena&) = delete;
  IteratorArena& operator=(const IteratorArena&) = delete;

  // Owned by the arena; valid until clear().
  template <class Iterator, class... Args>
  Iterator* make(Args&&... args) {
    const size_t at = (used_ + alignof(Iterator) - 1) / alignof(Iterator) * alignof(Iterator);
    const bool fits = at + sizeof(Iterator) <= kInlineBytes;
    Iterator* made = nullptr;
    if (fits) {
      made = new (inline_ + at) Iterator(std::forward<Args>(args)...);
      used_ = at + sizeof(Iterator);
    } else {
      made = new Iterator(std::forward<Args>(args)...);
    }
    made_.push_back({made, fits});
    return made;
  }
  void clear() {
    for (const Made& one : made_) {
      if (one.is_inline) {
        one.iterator->~EntryIterator();
      } else {
        delete one.iterator;
      }
    }
    made_.clear();
    used_ = 0;
  }

 private:
  struct Made {
    EntryIterator* iterator;
    bool is_inline;
  };

  size_t used_ = 0;
  absl::InlinedVector<Made, 4> made_;
  alignas(std::max_align_t) std::byte inline_[kInlineBytes];
};

}  // namespace cellar::engine
