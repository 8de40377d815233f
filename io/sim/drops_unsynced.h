// A file body that can play a sync which failed and lost its data (FaultyFs asks for it).
#pragma once

namespace cellar {

class DropsUnsynced {
 public:
  virtual ~DropsUnsynced() = default;
  // Dirty data never reaches the disk, though reads still show it; the next sync succeeds.
  virtual void drop_unsynced() = 0;
};

}  // namespace cellar
