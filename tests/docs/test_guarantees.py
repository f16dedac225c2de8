"""The page of guarantees: every promise names what it rests on, tests that there are, and mutants, each of which dies of one of them."""

import re
from functools import cache
from typing import NamedTuple

import pytest

from guarantees.mutation import mutants
from world.named import ROOT, missing, named_mutants, named_tests

PAGE = ROOT / "docs" / "operations" / "guarantees.md"


_PROMISE = re.compile(
    r"^(\*\*.+)\n\n"
    r"Rests on (.+)\.\n\n"
    r"<details><summary>.+</summary>\n\n"
    r"((?:- .+\n)+)\n"
    r"Fails without (.+)\n\n</details>$",
    re.MULTILINE,
)


class Promise(NamedTuple):
    """A promise of the page, with what is folded below it."""

    words: str
    rests_on: str
    shown_by: str
    fails_without: str


@cache
def deaths() -> dict[str, str]:
    """Give the test that each mutant dies of, whatever its parameters are."""
    return {mutant.file.name: re.sub(r"\[.*\]$", "", mutant.dies) for mutant in mutants()}


def promises() -> list[Promise]:
    return [Promise(*parts) for parts in _PROMISE.findall(PAGE.read_text("utf-8"))]


def test_all_of_the_contract_is_read() -> None:
    written = re.findall(r"^\*\*.+", PAGE.read_text("utf-8"), re.MULTILINE)

    assert [promise.words for promise in promises()] == written
    assert len(written) >= 20


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise.words[:40])
def test_a_promise_names_tests_and_mutants_that_there_are(promise: Promise) -> None:
    tests, without = named_tests(promise.shown_by), named_mutants(promise.fails_without)

    assert promise.rests_on
    assert tests
    assert without
    assert missing(tests) == []
    assert sorted(set(without) - deaths().keys()) == []


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise.words[:40])
def test_a_promise_names_the_tests_that_its_mutants_die_of_and_no_others(promise: Promise) -> None:
    tests, without = named_tests(promise.shown_by), named_mutants(promise.fails_without)
    died_of = {deaths()[name] for name in without}

    assert [name for name in without if deaths()[name] not in tests] == []
    assert [test for test in tests if test not in died_of] == []


def test_what_else_the_page_names_is_there_too() -> None:
    assert missing(named_tests(PAGE.read_text("utf-8"))) == []


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise.words[:40])
def test_what_a_promise_rests_on_is_in_the_schema(promise: Promise) -> None:
    """Names of constraints, triggers, indexes and functions; and words of the language, which stand in small letters, too."""
    schema = (ROOT / "src" / "holdfast" / "store" / "sql" / "schema.sql").read_text("utf-8")
    parts = re.findall(r"`(?:holdfast\.)?([a-z_]+)(?:\.\w+)?`", promise.rests_on)

    assert [part for part in parts if part not in schema] == []
