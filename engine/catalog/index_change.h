// Changes of a table's indexes: the part of TableChange that concerns them (SEMANTICS 11).
#pragma once

#include "engine/catalog/table_change.h"
#include "engine/model/schema.h"

namespace cellar::engine {

// INVALID_ARGUMENT for what is invalid for every table: a name, contradictory parts, an index that
// is named twice in one change.
Result<void> validate_indexes(const TableChange& change);

// NOT_FOUND: an index to alter or drop. ALREADY_EXISTS: an index to add.
Result<void> check_indexes_exist(const TableChange& change, const TableSchema& schema);

// Makes the change to the indexes of `schema`, whose families are those after the change. An index
// on a family that is gone goes with it. NOT_FOUND: the family of a new index, or of a column that
// it covers. FAILED_PRECONDITION: too many indexes. INVALID_ARGUMENT: an own age that the family
// forbids.
Result<void> change_indexes(const TableChange& change, TableSchema& schema);

// FAILED_PRECONDITION, naming the index, if the families after a change contradict an index that
// was there before: the age at which the rule kills falls below its own age, although it has
// tighter_base = refuse; or timestamps have become numbers, and it has an own age.
Result<void> check_families_fit_indexes(const TableSchema& before, const TableSchema& after);

}  // namespace cellar::engine
