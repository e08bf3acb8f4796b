"""The languages of a translator: its language tokens, and the language that a request's code names.

Marian's multilingual models (`>>deu<<`) and MADLAD-400 (`<2de>`) have the token of the target language before
the source. M2M-100 (`__de__`), NLLB-200 (`deu_Latn`) and mBART-50 (`de_DE`) have one before the source and
one before the translation. Codes follow BCP 47: a language, an optional script, an optional region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

FORMS = (
    # the pattern of a language token, whether it is before the source only, the least number of them
    (re.compile(r">>([A-Za-z_]{2,12})<<"), True, 1),
    (re.compile(r"<2([A-Za-z_]{2,12})>"), True, 2),
    (re.compile(r"__([a-z]{2,3})__"), False, 2),
    (re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), False, 2),
    (re.compile(r"([a-z]{2}_[A-Z]{2})"), False, 2),
)
MAX_LISTED_CODES = 24  # codes in an error message
IMPLIED_SCRIPTS = {
    **dict.fromkeys(("zh_TW", "zh_HK", "zh_MO"), "Hant"),
    **dict.fromkeys(("zh_CN", "zh_SG"), "Hans"),
}

# One language in each group: ISO 639-1, then ISO 639-3, the most common first. Of a macrolanguage (Arabic,
# Chinese, Norwegian, ...) models know individual languages.
NAMES = """
af afr | am amh | ar arb ara | as asm | az azj aze | ba bak | be bel | bg bul | bm bam | bn ben |
bo bod | br bre | bs bos | ca cat | cs ces | cy cym | da dan | de deu | dz dzo | el ell | en eng |
eo epo | es spa | et est ekk | eu eus | fa pes fas | ff fuv ful | fi fin | fj fij | fo fao | fr fra |
fy fry | ga gle | gd gla | gl glg | gn grn | gu guj | ha hau | he heb | hi hin | hr hrv | ht hat |
hu hun | hy hye | id ind | ig ibo | is isl | it ita | ja jpn | jv jav | ka kat | kk kaz | km khm |
kn kan | ko kor | ku kmr kur | ky kir | lb ltz | lg lug | ln lin | lo lao | lt lit | lv lvs lav |
mg plt mlg | mi mri | mk mkd | ml mal | mn khk mon | mr mar | ms zsm msa | mt mlt | my mya |
ne npi nep | nl nld | nn nno | no nob nor nb | ny nya | oc oci | om gaz orm | or ory ori | pa pan |
pl pol | ps pbt pus | pt por | qu quy que | ro ron | ru rus | rw kin | sa san | sd snd | si sin |
sk slk | sl slv | sm smo | sn sna | so som | sq als sqi | sr srp | ss ssw | st sot | su sun | sv swe |
sw swh swa | ta tam | te tel | tg tgk | th tha | ti tir | tk tuk | tl tgl fil | tn tsn | tr tur |
ts tso | tt tat | ug uig | uk ukr | ur urd | uz uzn uzb | vi vie | wo wol | xh xho | yi ydd yid |
yo yor | yue | zh zho cmn | zu zul
"""
SYNONYMOUS_CODES: Mapping[str, list[str]] = {
    name: names for group in NAMES.split("|") for names in [group.split()] for name in names
}


class UnknownLanguage(ValueError):
    """Raised when a model does not know a language; the text lists those that it knows."""


@dataclass(frozen=True)
class Languages:
    """The languages of a model: its own codes with their language tokens; empty for a model of one pair."""

    tokens: Mapping[str, str] = field(default_factory=dict)
    before_source_only: bool = False

    def token(self, code: str, field: str) -> str:
        """The language token for the code in a request's field. Raises `UnknownLanguage`."""
        found = matching_code(code, self.tokens)
        if found is None:
            raise UnknownLanguage(f"{field}: this model does not support {code}, only {listed(self.tokens)}")
        return self.tokens[found]


@dataclass(frozen=True)
class Code:
    """The parts of a language code; script and region may be empty."""

    language: str
    script: str = ""
    region: str = ""


def languages(vocabulary: Iterable[str]) -> Languages:
    """The languages that the language tokens of a vocabulary stand for."""
    short = [token for token in vocabulary if len(token) <= 16]
    for form, before_source_only, least in FORMS:
        tokens = {found.group(1): token for token in short if (found := form.fullmatch(token))}
        if len(tokens) >= least:
            return Languages(tokens, before_source_only)
    return Languages()


def matching_code(wanted: str, known: Iterable[str]) -> str | None:
    """The model's own code for a language; None when it does not know it, or not in that script."""
    folded = {_folded(code): code for code in known}
    if _folded(wanted) in folded:
        return folded[_folded(wanted)]
    code = parsed(wanted)
    names = _names(code.language)
    matches = []
    for name in folded.values():
        candidate = parsed(name)
        if candidate.language in names and (not code.script or candidate.script in ("", code.script)):
            distance = (
                candidate.region != code.region,
                names.index(candidate.language),
                candidate.region != "",
                name,
            )
            matches.append((distance, name))
    return min(matches)[1] if matches else None


def same_language(one: str, other: str) -> bool:
    """Whether two codes name the same language."""
    return parsed(one).language in _names(parsed(other).language)


def parsed(code: str) -> Code:
    """The parts of a code; a region may imply the script."""
    language, *parts = re.split("[-_]", code)
    language = language.lower()
    script = next((part.title() for part in parts if len(part) == 4 and part.isalpha()), "")
    region = next((part.upper() for part in parts if len(part) in (2, 3) and part.upper() != "XX"), "")
    usual = SYNONYMOUS_CODES.get(language, [language])[0]
    return Code(language, script or IMPLIED_SCRIPTS.get(f"{usual}_{region}", ""), region)


def listed(codes: Iterable[str]) -> str:
    """Codes for an error message; the first ones of many."""
    known = sorted(codes)
    more = len(known) - MAX_LISTED_CODES
    return ", ".join(known[:MAX_LISTED_CODES]) + (f" and {more} more" if more > 0 else "")


def _names(language: str) -> list[str]:
    """All codes of a language: the given one, then the others, the most common first."""
    group = SYNONYMOUS_CODES.get(language, [])
    return [language, *(name for name in group if name != language)]


def _folded(code: str) -> str:
    return code.replace("-", "_").lower()
