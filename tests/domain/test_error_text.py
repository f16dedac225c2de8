"""What is kept of an exception's words."""

import asyncio
import json
import linecache
from typing import Any

import psycopg
import pytest
import sqlalchemy.exc
from hypothesis import given
from hypothesis import strategies as st

from holdfast.domain.error_text import (
    MAX_CHAIN,
    MESSAGE_BYTES,
    TRACEBACK_BYTES,
    message_of,
    trimmed_traceback,
    type_name,
)

NOT_NULL = 'null value in column "b" of relation "t" violates not-null constraint'
ROW = f"{NOT_NULL}\nDETAIL:  Failing row contains (1, null, row-data\n\nmore row-data)."


def raised(error: Exception) -> Exception:
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def raised_under(filename: str, source: str = "raise_(ValueError('what?'))") -> Exception:
    """Return an error from code that claims to stand in `filename`, without this test's own frame."""
    try:
        exec(compile(source, filename, "exec"), {"raise_": raise_})  # frames of a chosen file
    except Exception as caught:  # noqa: BLE001 - a traceback is what is wanted
        caught.__traceback__ = caught.__traceback__.tb_next if caught.__traceback__ else None
        return caught
    raise AssertionError


def raise_(error: BaseException) -> None:
    raise error


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class TestType:
    def test_a_builtin_has_its_short_name(self) -> None:
        assert type_name(KeyError()) == "KeyError"

    def test_a_librarys_class_has_its_full_name(self) -> None:
        assert type_name(psycopg.errors.UniqueViolation()) == "psycopg.errors.UniqueViolation"


class TestMessage:
    def test_a_long_message_is_cut_at_two_kibibytes(self) -> None:
        message = message_of(ValueError("é" * 5_000))

        assert len(message.encode()) <= MESSAGE_BYTES == 2_048
        assert message.endswith("é … (cut)")

    def test_a_message_at_the_limit_is_whole(self) -> None:
        assert message_of(ValueError("x" * 2_048)) == "x" * 2_048

    def test_an_exception_that_cannot_speak_does_not_hide_the_failure(self) -> None:
        assert message_of(Unspeakable()) == "<str() of this exception raised RuntimeError>"

    @pytest.mark.parametrize("character", ["\x00", chr(0xD800), chr(0xDFFF)], ids=["nul", "high", "low"])
    def test_what_jsonb_cannot_hold_is_replaced(self, character: str) -> None:
        assert message_of(ValueError(f"a{character}b")) == "a\ufffdb"

    def test_the_row_in_a_constraint_error_is_not_kept(self) -> None:
        assert message_of(psycopg.errors.NotNullViolation(ROW)) == NOT_NULL

    def test_what_follows_the_row_is_kept(self) -> None:
        message = message_of(
            psycopg.errors.NotNullViolation(f"{ROW}\nHINT:  Give it one.\nCONTEXT:  PL/pgSQL f()")
        )

        assert message == f"{NOT_NULL}\nHINT:  Give it one.\nCONTEXT:  PL/pgSQL f()"

    def test_the_line_of_a_failed_copy_is_not_kept(self) -> None:
        error = psycopg.errors.InvalidTextRepresentation(
            'invalid\nCONTEXT:  COPY t, line 1, column a: "row-data"'
        )

        assert message_of(error) == "invalid"

    def test_the_parameters_of_a_statement_are_not_kept(self) -> None:
        driver = psycopg.errors.NotNullViolation(ROW)

        message = message_of(sqlalchemy.exc.IntegrityError("insert into t", {"s": "row-data"}, driver))

        assert "row-data" not in message
        assert "[SQL: insert into t]" in message


class TestTraceback:
    def test_it_tells_the_line_and_the_error(self) -> None:
        text = trimmed_traceback(raised(ValueError("what?")))

        assert text.startswith("Traceback (most recent call last):\n")
        assert "raise error" in text
        assert text.endswith("\nValueError: what?")

    @pytest.mark.parametrize(
        "machinery",
        ["/x/holdfast/runtime/attempt.py", "/usr/lib/python3/asyncio/tasks.py", r"C:\holdfast\runtime\a.py"],
    )
    def test_frames_of_the_worker_above_the_task_are_dropped(self, machinery: str) -> None:
        text = trimmed_traceback(raised_under(machinery))

        assert machinery not in text
        assert "in raise_" in text

    def test_frames_of_other_callers_are_kept(self) -> None:
        assert "/x/app/tasks.py" in trimmed_traceback(raised_under("/x/app/tasks.py"))

    def test_an_error_of_the_worker_itself_keeps_its_frames(self) -> None:
        error = raised_under("/x/holdfast/runtime/attempt.py", source="1 / 0")

        assert "attempt.py" in trimmed_traceback(error)

    def test_a_long_traceback_keeps_its_end_and_says_what_was_cut(self) -> None:
        error = raised(ValueError("x" * 1_000))
        for _ in range(12):
            outer = RuntimeError("y" * 1_000)
            outer.__cause__ = error
            error = raised(outer)

        text = trimmed_traceback(error)

        assert TRACEBACK_BYTES - 2_048 < len(text.encode()) <= TRACEBACK_BYTES == 8_192
        assert text.splitlines()[0].endswith("bytes cut) …")
        assert text.endswith("y" * 1_000)

    def test_a_cause_comes_before_what_it_caused(self) -> None:
        error = ValueError("outcome")
        error.__cause__ = KeyError("cause")

        text = trimmed_traceback(error)

        assert text.index("cause") < text.index("direct cause") < text.index("outcome")

    def test_an_error_while_handling_another_tells_both(self) -> None:
        error = ValueError("second")
        error.__context__ = KeyError("first")

        assert "During handling" in trimmed_traceback(error)
        assert "first" in trimmed_traceback(error)

    def test_a_suppressed_context_stays_hidden(self) -> None:
        error = ValueError("second")
        error.__context__ = KeyError("first")
        error.__suppress_context__ = True

        assert trimmed_traceback(error) == "ValueError: second"

    def test_a_chain_that_bites_its_tail_ends(self) -> None:
        one, two = ValueError("one"), ValueError("two")
        one.__cause__, two.__cause__ = two, one

        assert trimmed_traceback(one).count("ValueError: one") == 1

    def test_a_chain_without_end_is_cut(self) -> None:
        error: BaseException = ValueError()
        for _ in range(500):
            outer = ValueError()
            outer.__cause__ = error
            error = outer

        assert trimmed_traceback(error, limit=10**6).count("\nValueError") == MAX_CHAIN - 1

    def test_every_part_of_a_group_is_told(self) -> None:
        text = trimmed_traceback(ExceptionGroup("two", [raised(KeyError("a")), TimeoutError("b")]))

        assert "  KeyError: 'a'" in text
        assert "  TimeoutError: b" in text

    def test_a_group_of_hundreds_is_cut(self) -> None:
        group = ExceptionGroup("many", [ValueError() for _ in range(500)])

        assert trimmed_traceback(group, limit=10**6).count("  ValueError") == MAX_CHAIN - 1

    def test_notes_are_kept(self) -> None:
        error = ValueError("what?")
        error.add_note("while reading page 3")

        assert trimmed_traceback(error) == "ValueError: what?\nwhile reading page 3"

    def test_rows_are_kept_out_of_every_part_of_the_chain(self) -> None:
        error = ValueError(ROW)
        error.__cause__ = psycopg.errors.NotNullViolation(ROW)
        error.add_note(ROW)

        text = trimmed_traceback(ExceptionGroup("one", [error]))

        assert NOT_NULL in text
        assert "row-data" not in text

    def test_an_exception_that_cannot_speak_has_a_traceback_all_the_same(self) -> None:
        assert "Unspeakable: <str() of this exception raised RuntimeError>" in trimmed_traceback(
            Unspeakable()
        )

    def test_endless_recursion_is_told_briefly(self) -> None:
        def again() -> None:
            again()

        with pytest.raises(RecursionError) as caught:
            again()

        assert "Previous line repeated" in trimmed_traceback(caught.value)

    async def test_the_real_event_loops_frames_are_dropped(self) -> None:
        async def task() -> None:
            raise_(ValueError("what?"))

        with pytest.raises(ValueError, match="what") as caught:
            await asyncio.wait_for(task(), 5)
        # The test's own frame stands above asyncio's; a worker's does not.
        caught.value.__traceback__ = (
            caught.value.__traceback__.tb_next if caught.value.__traceback__ else None
        )

        assert "asyncio" not in trimmed_traceback(caught.value).replace("test_error_text", "")

    @given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
    def test_whatever_was_said_is_storable(self, said: str, note: str) -> None:
        error: Any = ValueError(said)
        error.add_note(note)

        text = trimmed_traceback(error)

        assert "\\u0000" not in json.dumps(text).replace("\\\\", "")
        text.encode()


def test_source_lines_come_from_the_interpreters_own_cache() -> None:
    linecache.cache["<made up>"] = (10, None, ["call_something_named_here()\n"], "<made up>")
    try:
        text = trimmed_traceback(raised_under("<made up>"))
    finally:
        del linecache.cache["<made up>"]

    assert "call_something_named_here()" in text
