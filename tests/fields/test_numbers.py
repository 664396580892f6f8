"""Numbers: the grammar, the fast path against it, and tolerances against fractions."""

import decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anls_eval.fields.numbers import (
    CURRENCY_CODES,
    NumberReader,
    number_matches,
    number_matrix,
    number_vector,
    number_words,
    parse_number_text,
)

NUMBERS = {
    "5": "5",
    "-5": "-5",
    "+5": "5",
    "5-": "-5",
    "5+": "5",
    "(5)": "-5",
    "( 5 )": "-5",
    "($5)": "-5",
    "$(5)": "-5",
    "(5)%": "-5",
    "(5%)": "-5",
    "(EUR 5)": "-5",
    "- 5": "-5",
    "\u22125": "-5",
    "$5": "5",
    "5$": "5",
    "-$5": "-5",
    "$-5": "-5",
    "5 $-": "-5",
    "€ 5": "5",
    "5 €": "5",
    "£5": "5",
    "₹5": "5",
    "EUR 5": "5",
    "EUR5": "5",
    "5EUR": "5",
    "5 CHF": "5",
    "-EUR 5": "-5",
    "DEM 5": "5",
    "5%": "5",
    "5 %": "5",
    "% 5": "5",
    "-5%": "-5",
    "$5%": "5",
    "  5  ": "5",
    "\u00a05\u00a0": "5",
    "5.": "5",
    ".5": "0.5",
    "-.5": "-0.5",
    ",5": "0.5",
    "5,": "5",
    "0": "0",
    "-0": "0",
    "0.0": "0",
    "007": "7",
    "1.50": "1.5",
    "100": "100",
    "1e3": "1000",
    "1E+3": "1000",
    "1.5e-3": "0.0015",
    "1,299e3": "1299000",
    "1e-1000": "0." + "0" * 999 + "1",
    "1,299": "1299",
    "1,299.00": "1299",
    "1.299,00": "1299",
    "1.299,5": "1299.5",
    "1,299,000": "1299000",
    "1.299.000": "1299000",
    "1,299,000.5": "1299000.5",
    "12,34,567": "1234567",
    "1,23,456.5": "123456.5",
    "12 34 567": "1234567",
    "1 299": "1299",
    "1\u202f299": "1299",
    "1 299,50": "1299.5",
    "1 299,500": "1299.5",
    "1'299": "1299",
    "1\u2019299.5": "1299.5",
    "1'299'000": "1299000",
    "1_000": "1000",
    "0,125": "0.125",
    "1234,567": "1234.567",
    "1,2345": "1.2345",
    "01,299": "1.299",
    "12,5": "12.5",
    "1,00": "1",
    "1.234": "1.234",
    "123.456": "123.456",
    "１，２９９": "1299",
    "＄5": "5",
}

NO_NUMBERS = [
    *("", "five", "14.05.2026", "1 2", "--3", "+-3", "(5", "5)", "((5))", "-(5)", "(5)-", "(-5)", "$$5", "$5€"),
    *("USD $5", "USDEUR 5", "usd 5", "Eur 5", "XQX 5", "5 kg", "12 kg", "3/4", "5%%", "192.168.0.1", "1,299,00", ","),
    *(".", "-", "%", "$", "EUR", "e5", "1e", "1e+", "1e1.5", "1e1001", "1e-1001", "1 299 00", "1  299", "0,125,000"),
    *("1,2345,678", "1234,567,890", "1,299 000", "1'299,000.000,5", "1.299.000,5,0", "1.2.3", "1,2,3", "1..2"),
    *("1,,299", "1.,5", "_1", "1_", "1_00", "'5", "5'", "0x10", "inf", "nan", "NaN", "Infinity", "١٢٣", "true"),
    *("1\\t299", "12,34,56", "01,23,456", "1,234,56,789", "5 5%", "1e3e3", "1.5 e3", "½"),
]


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers(text: str, value: str) -> None:
    number = parse_number_text(text)
    assert number is not None
    assert Fraction(number[0], 10 ** number[1]) == Fraction(value)
    assert NumberReader("auto").parse(text) == number


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_no_numbers(text: str) -> None:
    assert parse_number_text(text) is None
    assert NumberReader("auto").parse(text) is None


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1,234", "1234", "1.234"),
        ("1.234", "1.234", "1234"),
        ("1,234.5", "1234.5", None),
        ("1.234,5", None, "1234.5"),
        ("1234,5", None, "1234.5"),
        ("1234.5", "1234.5", None),
        ("0,125", None, "0.125"),
        ("0.5", "0.5", None),
        ("1.5", "1.5", None),
        ("1,5", None, "1.5"),
        ("1,234,567", "1234567", None),
        ("1.234.567", None, "1234567"),
        ("1 234,5", None, "1234.5"),
        ("1 234.5", "1234.5", None),
        ("5", "5", "5"),
    ],
)
def test_decimal_mark_that_is_given(text: str, point: str | None, comma: str | None) -> None:
    for mark, value in ((".", point), (",", comma)):
        number = NumberReader(mark).parse(text)
        assert number == parse_number_text(text, mark)
        assert (number and number_words(number)) == value


@pytest.mark.parametrize("mark", [".", ",", "auto"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (-5, "-5"),
        (5.0, "5"),
        (0.1, "0.1"),
        (-1234.5, "-1234.5"),
        (1e22, "1" + "0" * 22),
        (1.5e-7, "0.00000015"),
    ],
)
def test_json_numbers_are_the_decimals_that_python_prints(value: float, text: str, mark: str) -> None:
    number = NumberReader(mark).parse(value)
    assert number is not None
    assert number_words(number) == text


@pytest.mark.parametrize("value", [True, False, float("inf"), float("nan")])
def test_values_that_are_no_numbers(value: object) -> None:
    assert NumberReader("auto").parse(value) is None


def test_a_thousand_digits_are_the_limit() -> None:
    assert parse_number_text("9" * 1000) == (int("9" * 1000), 0)
    assert parse_number_text("9" * 1001) is None
    assert parse_number_text("0." + "9" * 1000) is None
    assert NumberReader("auto").parse("9" * 1001) is None
    assert NumberReader("auto").parse(10**999) == (10**999, 0)
    assert NumberReader("auto").parse(10**1000) is None
    assert NumberReader("auto").parse(10**5000) is None  # which Python refuses to write


def test_codes_of_currencies() -> None:
    assert {"EUR", "USD", "GBP", "JPY", "CHF", "INR", "CNY", "XXX"} <= CURRENCY_CODES
    assert all(parse_number_text(f"{code} 7") == (7, 0) for code in CURRENCY_CODES)


SHAPES = st.builds(
    "".join,
    st.lists(
        st.sampled_from([*"0123456789", ".", ",", " ", "'", "-", "+", "%", "$", "€", "(", ")", "EUR", "e3", "000"])
    ),
)
GROUPED = st.builds(
    lambda sign, before, number, places, comma, after: (
        sign + before + f"{number:,.{places}f}".translate({44: 46, 46: 44} if comma else {}) + after
    ),
    st.sampled_from(["", "-", "+", "("]),
    st.sampled_from(["", "$", "€ ", "EUR ", "-"]),
    st.decimals(-(10**9), 10**9, places=4),
    st.integers(0, 4),
    st.booleans(),
    st.sampled_from(["", "%", " €", " EUR", ")", "-"]),
)


@given(st.one_of(SHAPES, GROUPED), st.sampled_from(["auto", ".", ","]))
@example("$5€", "auto")
@example("1,234", ",")
@example("1.234,56", ".")
def test_the_fast_path_is_the_rule(text: str, mark: str) -> None:
    reader = NumberReader(mark)
    number = parse_number_text(text, mark)
    assert reader.parse_text(text) == reader.parse(text) == number
    assert reader.parse_all([text, text]) == [number, number]


@given(
    st.lists(SHAPES | GROUPED | st.decimals(-(10**12), 10**12, places=5).map(str)), st.sampled_from(["auto", ".", ","])
)
@example(["99999999999.9999", "-0", "1.2345", "1.23456", "123456789012", "5.", ".5", "1_000"], "auto")
@example(["1,299.50", "1,299", "-12,345,678.9", "1,29", "0,123", "1,234,567,890"], "auto")
@example(["1,299.50", "1,299", "1,29"], ".")
@example(["1.299", "1299", "1,5"], ",")
def test_short_texts_are_read_by_the_rule(texts: list[str], mark: str) -> None:
    reader = NumberReader(mark)
    numbers = [parse_number_text(text, mark) for text in texts]
    found = reader.read_short(texts)
    columns = zip(numbers, found.scaled.tolist(), found.is_short.tolist(), found.is_none.tolist(), strict=True)
    for number, scaled, is_short, is_none in columns:
        assert not (is_none and number)
        assert not is_short or (number and Fraction(number[0], 10 ** number[1]) == Fraction(scaled, 10_000))
    assert reader.unparsed(texts) == [index for index, number in enumerate(numbers) if number is None]


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_equal_to_decimal_on_what_both_read(value: decimal.Decimal) -> None:
    text = f"{value:f}"
    number = parse_number_text(text)
    if len(text) > 1000:
        return
    assert number is not None
    assert Fraction(number[0], 10 ** number[1]) == Fraction(value)
    assert Fraction(number_words(number)) == Fraction(value)
    assert number[1] == 0 or number[0] % 10  # one pair for one number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_exactly_as_printed(value: float) -> None:
    number = NumberReader("auto").parse(value)
    assert number is not None
    assert Fraction(number[0], 10 ** number[1]) == Fraction(repr(value))
    assert NumberReader("auto").parse_all([value]) == [number]


SHORT = st.builds(
    lambda m, d: m / 10**d, st.integers(-(10**16), 10**16) | st.integers(-(10**6), 10**6), st.integers(0, 6)
)


@given(
    st.lists(st.floats() | SHORT | st.integers() | st.sampled_from([10**400, 2**53 + 1, -0.0, 1e11, 99999999999.99995]))
)
def test_columns_of_json_numbers_are_read_as_each_alone(values: list[float]) -> None:
    reader = NumberReader("auto")
    assert reader.parse_all(values) == [reader.parse(value) for value in values]


@pytest.mark.parametrize(
    ("prediction", "reference", "absolute", "relative", "is_right"),
    [
        ("101", "100", "1", "0", True),
        ("101.01", "100", "1", "0", False),
        ("-50.5", "-50", "0", "0.01", True),
        ("-50.51", "-50", "0", "0.01", False),
        ("0.3", "0.1", "0.2", "0", True),
        ("110", "100", "1", "0.1", True),  # the greater of both
        ("91", "100", "1", "0.1", True),
        ("1.1", "0", "1", "10", False),
        ("100", "101", "0", "0.01", True),
        ("101", "100", "0", "0.0099", False),
    ],
)
def test_tolerance(prediction: str, reference: str, absolute: str, relative: str, is_right: bool) -> None:
    p, r = parse_number_text(prediction), parse_number_text(reference)
    assert p is not None
    assert r is not None
    assert number_matches(p, r, Fraction(absolute), Fraction(relative)) is is_right


@st.composite
def numbers(draw: st.DrawFn) -> tuple[int, int]:
    m = draw(st.one_of(st.integers(-1200, 1200), st.integers(-(2**70), 2**70)))
    number = parse_number_text(f"{m}e-{draw(st.integers(0, 4) | st.integers(0, 25))}")
    assert number is not None
    return number


TOLERANCES = st.sampled_from(["0", "0.01", "1", "0.1", "1e-20", "12345678901234567890", "1/3", "1e30"]).map(Fraction)


@given(st.lists(numbers(), max_size=4), st.lists(st.none() | numbers(), max_size=4), TOLERANCES, TOLERANCES)
def test_columns_are_the_pairs(
    references: list[tuple[int, int]], predictions: list[tuple[int, int] | None], absolute: Fraction, relative: Fraction
) -> None:
    def is_right(p: tuple[int, int] | None, r: tuple[int, int]) -> bool:
        if p is None:
            return False
        difference = Fraction(p[0], 10 ** p[1]) - Fraction(r[0], 10 ** r[1])
        return abs(difference) <= max(absolute, relative * abs(Fraction(r[0], 10 ** r[1])))

    expected = [[is_right(p, r) for p in predictions] for r in references]
    matrix = number_matrix(references, predictions, absolute, relative)
    assert matrix.shape == (len(references), len(predictions))
    assert matrix.tolist() == expected
    n = min(len(references), len(predictions))
    vector = number_vector(references[:n], predictions[:n], absolute, relative)
    assert vector.tolist() == [expected[i][i] for i in range(n)]
