"""Whatever the auditor can say it says of some corruption: no branch of it could break without a test that notices."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from guarantees.audit import pattern
from guarantees.test_audit import CORRUPTIONS, MISTOLD, UNREST
from guarantees.test_audit_chain import REWRITTEN
from guarantees.test_audit_guards import ELSEWHERE, UNGUARDED
from holdfast.domain import audit_sums, audit_times
from holdfast.domain.audit_guards import judge_guards

LITERAL = r"'((?:[^']|'')*)'"
CODE = re.compile(r"'([A-I]\d\d)'")


class Arm(NamedTuple):
    """One thing that the auditor may say, with an ellipsis for what is filled in, and the words that may stand there."""

    place: str
    code: str
    shape: str
    words: tuple[str, ...] = ()

    def fits(self, said: str) -> bool:
        return pattern(self.shape).fullmatch(said) is not None


def unquoted(literal: str) -> str:
    return literal.replace("''", "'").replace("%%s", "…").replace("%%", "%")


def arms_in_sql() -> Iterator[Arm]:
    """Read each select that begins with a code: what it says, and the words of a case within."""
    for name, text in queries():
        for head in re.findall(r"^select (.*?)(?=\n  from )", text, re.DOTALL | re.MULTILINE):
            sentence = re.search(rf"format\({LITERAL}", head) or re.search(
                rf", {LITERAL}(?: as what)?$", head
            )
            said = CODE.sub("", head)
            words = re.findall(rf"\b(?:then|else)\b[^',]*{LITERAL}", said)
            for code in CODE.findall(head):
                assert sentence is not None, head
                yield Arm(name, code, unquoted(sentence[1]), tuple(map(unquoted, words)))


def sources_in_sql() -> Iterator[tuple[str, str]]:
    """Read what a query gathers from several tables before it says something of each row: the word that stands for each table."""
    for name, text in queries():
        for block in re.split(r"^(?=with |select |\w+ as )", text, flags=re.MULTILINE):
            if " as what" in block and not block.startswith("select "):
                for each in block.split("  union all\n"):
                    first = re.search(rf"  select [^']*{LITERAL}", each)
                    assert first is not None, each
                    yield name, unquoted(first[1])


def guards_in_sql() -> Iterator[tuple[str, list[Arm]]]:
    """Read which kinds of guards are compared with the release, with all that may be said of each."""
    ((name, text),) = [each for each in queries() if each[0] == "audit_definitions"]
    apart = {"row security of one": ""}
    for column in re.findall(r"^select (.*?),", text, re.MULTILINE):
        for kind in re.findall(LITERAL, column):
            thing = f"{kind} …"
            as_released, otherwise = {**apart, thing: "…"}, {**apart, thing: "……"}
            found = [
                *judge_guards(as_released, apart),
                *judge_guards(as_released, otherwise),
                *judge_guards(apart, otherwise),
            ]
            yield kind, [Arm(name, each.code, each.what) for each in found]


def queries() -> list[tuple[str, str]]:
    folder = files("holdfast.store").joinpath("sql", "queries")
    return [
        (file.name.removesuffix(".sql"), re.sub(r"--.*", "", file.read_text("utf-8")))
        for file in sorted(folder.iterdir(), key=lambda each: each.name)
        if file.name.startswith("audit_")
    ]


def arms_in_python() -> Iterator[Arm]:
    """Read each finding that is made in Python, beside those of the server and of guards."""
    for module in (audit_sums, audit_times):
        name = module.__name__.rpartition(".")[2]
        tree = ast.parse(files("holdfast.domain").joinpath(f"{name}.py").read_text("utf-8"))
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            given = {t.id: n.value for n in ast.walk(function) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}  # fmt: skip
            for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
                if isinstance(call.func, ast.Name) and call.func.id == "Finding":
                    code, _, what = call.args
                    assert isinstance(code, ast.Constant)
                    sentence = given[what.id] if isinstance(what, ast.Name) else what
                    assert isinstance(sentence, ast.JoinedStr)
                    parts = [
                        str(each.value) if isinstance(each, ast.Constant) else "…" for each in sentence.values
                    ]
                    yield Arm(name, str(code.value), "".join(parts))


def attributed(arms: list[Arm]) -> list[tuple[Arm, str]]:
    """Give what each corruption makes the auditor say, with the arm that says so: of several that might, the one with the most words of its own."""
    found = []
    for code, deed, _, *sentences in (*CORRUPTIONS, *REWRITTEN, *UNREST, *MISTOLD, *UNGUARDED):
        assert sentences, f"{code} {deed}: what does the auditor say of it?"
        for said in sentences:
            fitting = [arm for arm in arms if arm.code == code and arm.fits(said)]
            assert fitting, f"{code} {deed}: nothing in the auditor says: {said}"
            found.append((max(fitting, key=lambda arm: len(arm.shape.replace("…", ""))), said))
    return found


def test_all_that_the_auditor_can_say_is_said_of_a_corruption() -> None:
    arms, guards = [*arms_in_sql(), *arms_in_python()], dict(guards_in_sql())
    said = attributed(arms + [arm for each in guards.values() for arm in each])
    reached = {arm for arm, _ in said}

    missing = [
        *(f"{arm.place}: {arm.code} {arm.shape}" for arm in arms if arm.code not in ELSEWHERE and arm not in reached),
        *(f"{arm.place}: {arm.code} {arm.shape}, with: {word}" for arm in reached for word in arm.words
          if not any(by == arm and pattern(f"…{word}…").fullmatch(what) for by, what in said)),
        *(f"{place}: {word}" for place, word in sources_in_sql()
          if not any(by.place == place and by.shape.startswith("…") and what.startswith(word) for by, what in said)),
        *(f"audit_definitions: {kind}" for kind, ways in guards.items() if not reached & set(ways)),
    ]  # fmt: skip

    assert not missing, "no corruption reaches:\n" + "\n".join(sorted(missing))


def test_no_two_arms_of_the_auditor_say_the_same() -> None:
    """Otherwise one could break, and the other would be taken for it; and what is seeded elsewhere is known by its code alone."""
    arms = list(arms_in_sql())
    same = [key for key, times in Counter((arm.code, arm.shape) for arm in arms).items() if times > 1]
    by_code = Counter(arm.code for arm in arms)

    assert len(arms) > 90
    assert same == []
    assert [code for code in ELSEWHERE if by_code[code] > 1] == []
