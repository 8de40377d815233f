// Compares an EntryIterator with a std::map over a random walk of seeks in both directions.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "engine/iter/entry_iterator.h"
#include "io/base/random.h"

namespace cellar::engine {

using EntryMap = std::map<std::string, std::string>;

// `finish` completes a step that is blocked. `probe` gives a key to seek.
inline void walk_against_model(EntryIterator& it, const EntryMap& model, Random& random,
                               size_t moves, const std::function<Step(Step)>& finish,
                               const std::function<std::string()>& probe) {
  auto place = model.end();
  for (size_t i = 0; i < moves; ++i) {
    Step step;
    const uint64_t dice = random.below(10);
    if (place != model.end() && dice < 7) {
      ++place;
      step = finish(it.next());
    } else {
      const std::string key = probe();
      place = model.lower_bound(key);
      if (dice == 8) {
        place = place == model.begin() ? model.end() : std::prev(place);
        step = finish(it.seek_before(key));
      } else {
        step = finish(it.seek(key));
      }
    }
    ASSERT_EQ(step, place == model.end() ? Step::end : Step::ready) << "move " << i;
    if (place == model.end()) continue;
    ASSERT_EQ(it.key(), place->first) << "move " << i;
    ASSERT_EQ(it.value(), place->second) << "move " << i;
  }
}

}  // namespace cellar::engine
