"""The languages that Whisper knows: codes (ISO 639) and English names (openai/whisper, tokenizer.py)."""

from __future__ import annotations

from collections.abc import Mapping

from api.http.errors import InvalidRequest

NAMES: Mapping[str, str] = dict(
    pair.split(":")
    for pair in [
        "en:english",
        "zh:chinese",
        "de:german",
        "es:spanish",
        "ru:russian",
        "ko:korean",
        "fr:french",
        "ja:japanese",
        "pt:portuguese",
        "tr:turkish",
        "pl:polish",
        "ca:catalan",
        "nl:dutch",
        "ar:arabic",
        "sv:swedish",
        "it:italian",
        "id:indonesian",
        "hi:hindi",
        "fi:finnish",
        "vi:vietnamese",
        "he:hebrew",
        "uk:ukrainian",
        "el:greek",
        "ms:malay",
        "cs:czech",
        "ro:romanian",
        "da:danish",
        "hu:hungarian",
        "ta:tamil",
        "no:norwegian",
        "th:thai",
        "ur:urdu",
        "hr:croatian",
        "bg:bulgarian",
        "lt:lithuanian",
        "la:latin",
        "mi:maori",
        "ml:malayalam",
        "cy:welsh",
        "sk:slovak",
        "te:telugu",
        "fa:persian",
        "lv:latvian",
        "bn:bengali",
        "sr:serbian",
        "az:azerbaijani",
        "sl:slovenian",
        "kn:kannada",
        "et:estonian",
        "mk:macedonian",
        "br:breton",
        "eu:basque",
        "is:icelandic",
        "hy:armenian",
        "ne:nepali",
        "mn:mongolian",
        "bs:bosnian",
        "kk:kazakh",
        "sq:albanian",
        "sw:swahili",
        "gl:galician",
        "mr:marathi",
        "pa:punjabi",
        "si:sinhala",
        "km:khmer",
        "sn:shona",
        "yo:yoruba",
        "so:somali",
        "af:afrikaans",
        "oc:occitan",
        "ka:georgian",
        "be:belarusian",
        "tg:tajik",
        "sd:sindhi",
        "gu:gujarati",
        "am:amharic",
        "yi:yiddish",
        "lo:lao",
        "uz:uzbek",
        "fo:faroese",
        "ht:haitian_creole",
        "ps:pashto",
        "tk:turkmen",
        "nn:nynorsk",
        "mt:maltese",
        "sa:sanskrit",
        "lb:luxembourgish",
        "my:myanmar",
        "bo:tibetan",
        "tl:tagalog",
        "mg:malagasy",
        "as:assamese",
        "tt:tatar",
        "haw:hawaiian",
        "ln:lingala",
        "ha:hausa",
        "ba:bashkir",
        "jw:javanese",
        "su:sundanese",
        "yue:cantonese",
    ]
)

_CODES = {name: code for code, name in NAMES.items()}


def language_code(given: str) -> str:
    """The code of a language that is given by its code or its English name. Raises `InvalidRequest`."""
    text = given.strip().lower().replace(" ", "_")
    code = text if text in NAMES else _CODES.get(text) or _CODES.get(text.replace("_", "-"))
    if code is None:
        raise InvalidRequest(
            "language must be the ISO 639-1 code of a language that Whisper knows, such as en or de",
            param="language",
        )
    return code


def language_name(code: str) -> str:
    """The English name of a language; the code itself for one that is not known here."""
    return NAMES.get(code, code).replace("_", " ")
