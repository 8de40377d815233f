"""Answers about indexes to values: pure functions over bodies, which raise INTERNAL for an invalid one."""
from __future__ import annotations

from typing import Any

from cellar import _bodies as bodies
from cellar._bodies import Body, known, span_of
from cellar._encode_indexes import COLUMN
from cellar._schema.DescribeIndexesReply import DescribeIndexesReply
from cellar.indexes import Index, IndexDescription, IndexMatch, IndexPart, IndexType, TighterBase

QUALIFIER, PARTS, COVERED, ARENA = 2, 3, 6, 7


def index_of(body: Body, i: Any) -> Index:
    arena = body.vector(i, ARENA, 1)
    return Index(
        name=body.text(i, 0),
        family=body.text(i, 1),
        qualifier=None if i.QualifierIsNone() else bytes(body.vector(i, QUALIFIER, 1)),
        order=tuple(part for part in (known(IndexPart, n) for n in body.vector(i, PARTS, 1)) if part is not None),
        type=known(IndexType, i.Type()),
        match=known(IndexMatch, i.Match()) or IndexMatch.NEWEST,
        covered=tuple(
            (span_of(arena, *column[0:2]).decode(errors="replace"), span_of(arena, *column[2:4]))
            for column in body.structs(i, COVERED, COLUMN)
        ),
        max_age=i.MaxAgeUs(),
        tighter_base=known(TighterBase, i.TighterBase()),
    )


def describe_indexes(body: bytes) -> list[IndexDescription]:
    def read(b: Body, reply: Any) -> list[IndexDescription]:
        return [
            IndexDescription(
                index_of(b, d.Index()), bool(d.Ready()), d.DoneBytes(), d.TotalBytes(), d.Entries(), d.Bytes(),
                d.Skipped(),
            )
            for d in b.tables(reply.IndexesLength(), reply.Indexes)
        ]  # fmt: skip

    return bodies.decode(body, b"RDIX", DescribeIndexesReply, read)
