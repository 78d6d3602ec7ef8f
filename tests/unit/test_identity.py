"""Job ids."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion_client._gotext import collapse, fields, lower, trim_space, well_formed
from reflexion_client.identity import derive_job_id

FIXTURE = Path(__file__).parent.parent / "fixtures/lessonq/job_ids.jsonl"


def test_every_id_is_the_reference_s() -> None:
    """All 120 requests give the id and the normalised task that Go gives."""
    lines = [json.loads(line) for line in FIXTURE.read_text().split("\n") if line]
    wrong = []
    for line in lines:
        request = line["request"]
        ours = derive_job_id(
            request["Task"], request["Trigger"], request["Attempt"], request["Outcome"]
        )
        if (line["id"], line["normalized_task"]) != (ours, collapse(lower(request["Task"]))):
            wrong.append(line["name"])
    assert (120, []) == (len(lines), wrong)


@given(st.text(), st.text(), st.text(), st.text())
def test_an_id_is_sixteen_hex_digits(task: str, trigger: str, attempt: str, outcome: str) -> None:
    """Any text gives an id, and space around the parts does not matter."""
    found = derive_job_id(task, trigger, attempt, outcome)
    assert 16 == len(found)
    assert int(found, 16) >= 0
    assert found == derive_job_id(f" {task}\n", trigger, f"\t{attempt} ", f"{outcome}\r\n")


@given(st.text(), st.text())
def test_case_and_spacing_of_the_task_do_not_count(first: str, second: str) -> None:
    """Only the words of a task count; attempt and outcome keep their case."""
    apart = derive_job_id(f"Fix {first}\u2003 \n{second}", "ERROR ", "A", "O")
    assert apart == derive_job_id(lower(f"fix {first} {second}"), "error", "A", "O")
    assert apart != derive_job_id(f"fix {first} {second}", "error", "a", "O")
    assert apart != derive_job_id(f"fix {first} {second}", "error", "A", "o")


@given(st.text(st.characters(codec=None), max_size=20))
def test_text_that_is_no_utf8_has_the_id_of_its_stored_form(text: str) -> None:
    """Every surrogate counts as U+FFFD, so a job that is read back keeps its id."""
    stored = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert stored == well_formed(text)
    assert derive_job_id(stored, stored, stored, stored) == derive_job_id(text, text, text, text)


def test_each_unreadable_byte_counts() -> None:
    """Bytes that Python carries as surrogates are as many replacement characters."""
    text = b"a\xff\xfe".decode(errors="surrogateescape")
    assert derive_job_id("a\ufffd\ufffd", "error", "", "") == derive_job_id(text, "error", "", "")
    assert derive_job_id("a\ufffd", "error", "", "") != derive_job_id(text, "error", "", "")


def test_lower_case_is_that_of_unicode_15() -> None:
    """Each code point by itself; capitals that came with Unicode 16 and 17 stay."""
    assert "i\u03c3\u03c3" == lower("\u0130\u03a3\u03a3")
    young = (
        "\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\U00010d50\U00010d65\U00016ea0\U00016eb8"
    )
    assert young == lower(young)


@pytest.mark.skipif(unicodedata.unidata_version > "15.1.0", reason="the tables here are newer")
def test_lower_case_is_python_s_for_single_characters() -> None:
    """With tables of the same age, only one code point differs."""
    every = [chr(point) for point in range(sys.maxunicode + 1)]
    assert ["\u0130"] == [letter for letter in every if lower(letter) != letter.lower()]


def test_whitespace_is_go_s() -> None:
    """Python's separators U+001C to U+001F are no whitespace, and nothing else differs."""
    every = [chr(point) for point in range(sys.maxunicode + 1)]
    differing = [letter for letter in every if bool(fields(letter)) == letter.isspace()]
    assert ["\x1c", "\x1d", "\x1e", "\x1f"] == differing


@given(st.text())
def test_fields_and_trim_agree(text: str) -> None:
    """Trimming takes off what separates fields, and nothing more."""
    assert fields(text) == fields(trim_space(text))
    assert trim_space(text) in text
    assert collapse(text) == collapse(collapse(text)) == " ".join(fields(text))
