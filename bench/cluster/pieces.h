// Pieces of blobs: whole objects of 4 MiB that are written, two in flight, and read once, each in
// ranges of 256 KiB, one at a time. OSDs do not cache what they write, so the reads are cold for
// them; whether the device has cached it is the host's.
#pragma once

#include "bench/cluster/cluster_bed.h"

namespace cellar::bench {

struct PieceFigures {
  double write_ms = 0;       // median of a piece
  double write_mib_s = 0;    // two in flight
  double whole_read_ms = 0;  // median of a piece in one read
  double range_read_ms = 0;  // median of 256 KiB at a random place
  double small_read_ms = 0;  // median of 4 KiB at a random place
};

PieceFigures measure_pieces(ClusterBed& bed, RadosPool pool, int pieces);

}  // namespace cellar::bench
