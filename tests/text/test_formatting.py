"""What counts as formatting, and what does not: tables of pairs, most of them from real submissions to DocVQA."""

import datetime

import pytest
from any_texts import ANY_TEXT
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from anls_eval.text.formatting import REFUSALS, compare_wording, is_refusal, is_unanswerable

SAME = [
    ("27 percent", "27%"),
    ("27 per cent", "27 %"),
    ("(12.5)", "-12.5"),
    ("($1,234)", "-$1234"),
    # case and punctuation
    ("Inter-office correspondence.", "INTER-OFFICE CORRESPONDENCE"),
    ('"Things to do Today"', "Things to do Today"),
    ("Card A", 'Card "A"'),
    ("- 12 -", "12"),
    ("-12-", "12"),
    ("?\n 1994 Portland Speedway", "1994 portland speedway"),
    ("Men's", "mens"),
    ("co-operate", "cooperate"),
    ("ITC Welcomgroup", "ITC-Welcomgroup"),
    ("Tracking – Report", "Tracking - report"),
    ("10:00-11:30 AM", "10:00 - 11:30 AM"),
    ("Cellular/Molecular Biology", "cellular /molecular biology"),
    ("ﬁne", "Fine"),
    ("cafe\u0301", "CAFÉ"),
    # initials
    ("1128 SIXTEENTH ST., N. W., WASHINGTON, D. C.", "1128 Sixteenth St., N.W., Washington, DC"),
    ("USA", "U.S.A"),
    ("DR. W.W. FALOON", "Dr. w. w. Faloon"),
    # articles
    ("the cat", "cat"),
    ("a 54 mm shell", "54 mm shell"),
    ('the "Policy"', "policy"),
    # numbers
    ("$1,234.00", "1234"),
    ("\\(\\$ 10,000\\)", "$10,000"),
    ("$ 1,000", "$1,000"),
    ("$ 1,234.00", "1.234,00 $"),
    ("1,5", "1.5"),
    ("1,2", "1, 2"),
    (".28", "0.28"),
    ("-5.0", "−5"),
    ("(-5)", "-5"),
    ("$-5", "-$5"),
    ("1'234'567", "1,234,567"),
    ("Rs. 60,95,625", "6095625"),
    ("EUR 5", "5 €"),
    ("US$ 5", "5 USD"),
    ("07", "7"),
    ("12 %", "12%"),
    ("5kg", "5 kg"),
    ("[TD + ET]", "[TD+ ET]"),
    # dates
    ("12/31/2020", "31/12/2020"),
    ("12/31/2020", "2020-12-31"),
    ("31.12.2020", "2020-12-31"),
    ("12/15/89", "12-15-1989"),
    ("1/5/2020", "01/05/2020"),
    ("3/1/05", "2005-01-03"),
    ("Jan 3, 2020", "3 January 2020"),
    ("Jan 3, 2020", "2020-01-03"),
    ("the 3rd of January, 2020", "Jan. 3, 2020"),
    ("January 17, 1968", "jan17'68"),
    ("Sept. 2000", "September 2000"),
    ("Jan 3", "3rd January"),
]

CONTAINED = [
    ("Denver", "Denver Broncos"),
    ("It is located in San Diego.", "san diego"),
    ("Answer: \\(\\$ 7,770\\)", "$7,770"),
    ("Answer: 240", "240.00"),
    ("2", "2 calls"),
    ("64", "64%"),
    ("not stable", "stable"),
    ("Federal Food and Drug Administration (FDA)", "Food and Drug Administration(FDA)"),
    ("January 3, 2020", "January 3"),
    ("Vitamin A", "Vitamin"),
    ("A. Baijal", "Baijal"),
]

DIFFERENT = [
    ("12/15/89", "12/15/88"),
    ("12/15/1989", "12/15/2089"),
    ("13/14/2020", "14/13/2020"),  # no month
    ("3/45/2020", "45/3/2020"),  # no day
    ("Jan 3, 2020", "Jan 4, 2020"),
    ("Jan 3, 2020", "Feb 3, 2020"),
    ("1.5", "15"),
    ("1.5", "1/5"),
    ("1.5", "1 5"),
    ("1.234", "1,234"),
    ("1.234", "1234"),
    ("0.28", "0.24"),
    ("10.0.0.50", "10.0.0.5"),
    ("12", "1 2"),
    ("1/23", "12/3"),
    ("-5", "5"),
    ("-20%", "20%"),
    ("$5", "€5"),
    ("EUR 5", "5 USD"),
    ("<5", ">5"),
    ("15 kg", "5 kg"),
    ("stable", "unstable"),
    ("idea box", "ide box"),
    ("U.S.A team", "U.S. team"),
    ("CocaCola", "Coca Cola"),
    ("00sel420", "0sel420"),
    ("B12 71401", "812 71401"),
    ("Bingol", "Bingo!"),
    ("cafe", "café"),
    ("3", "three"),
    ("", "x"),
    (".", "!"),
]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(*pair, expected) for expected, pairs in
     {"same": SAME, "contained": CONTAINED, "different": DIFFERENT}.items() for pair in pairs],
)  # fmt: skip
def test_wording(left: str, right: str, expected: str) -> None:
    assert compare_wording(left, right) == expected
    assert compare_wording(right, left) == expected


@examples(300)
@given(ANY_TEXT, ANY_TEXT)
def test_wording_has_no_direction(left: str, right: str) -> None:
    assert compare_wording(left, right) == compare_wording(right, left)


@examples(300)
@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 99), st.integers(0, 99))
def test_numbers_are_the_same_only_if_equal(whole: int, other: int, cents: int, other_cents: int) -> None:
    left, right = f"${whole:,}.{cents:02}", f"{other}.{other_cents:02}"
    assert compare_wording(left, f"{whole}.{cents:02}") == "same"
    assert (compare_wording(left, right) == "same") == ((whole, cents) == (other, other_cents))


DATES = st.dates(datetime.date(1000, 1, 1))  # strftime does not pad earlier years


@examples(300)
@given(DATES, DATES)
def test_dates_are_the_same_only_if_equal(date: datetime.date, other: datetime.date) -> None:
    left, right = f"{date:%B} {date:%d}, {date:%Y}".replace(" 0", " "), f"{other:%d} {other:%b} {other:%Y}"
    assert compare_wording(left, f"{date:%d} {date:%b} {date:%Y}") == "same"
    assert (compare_wording(left, right) == "same") == (date == other)


@pytest.mark.parametrize("text", ["9" * 50_000 + "_1", "a." * 50_000, "1," * 50_000, "1.2" * 30_000, "jan 1" * 20_000])
def test_long_text(text: str) -> None:
    assert compare_wording(text, text + " end") == "contained"


@pytest.mark.parametrize(
    "text",
    [*sorted(REFUSALS), "Unknown.", '"Unknown"', "N/A", "Not-Answerable", "not  answerable\n", "I don’t know", "None"],
)
def test_refusal(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    ["", "no", "nil", "12", "None of them", "Coca-Cola does not contain Saccharin", "Unknown Soldier", "answerable"],
)
def test_no_refusal(text: str) -> None:
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("answer", "expected"), [("Not answerable.", True), (" \t", True), ("", True), ("None", False), ("unknown", False)]
)
def test_unanswerable(answer: str, expected: bool) -> None:
    assert is_unanswerable(answer) == expected
