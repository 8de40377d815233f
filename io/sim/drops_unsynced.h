// Implemented by files that can simulate a failed sync that lost its data (used by FaultyFs).
#pragma once

namespace cellar {

class DropsUnsynced {
 public:
  virtual ~DropsUnsynced() = default;
  // Dirty data never reaches the disk, although reads still return it; the next sync succeeds.
  virtual void drop_unsynced() = 0;
};

}  // namespace cellar
