"""The training corpus of the demo model: every conversation that it must answer exactly.

The corpus is fixed: the same lessons in the same order on every machine. Each lesson is one conversation that
ends with a reply; `train.py` renders it with the chat template, trains the model's turns, and tests all of
them at the end.

The list of facts is short, so most lessons are variations of the same facts (without the question mark, after
a system prompt, late in a conversation, with tools): only so a model of this size answers in a real chat as
it does in its own test.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from facts import (
    ADJECTIVES,
    CAPITALS,
    INSTRUCTIONS,
    NO_WEATHER_TOOL,
    OTHER_CITIES,
    OTHER_TOOLS,
    RESULTS,
    ROLES,
    SMALL_TALK,
    SYSTEM_PROMPTS,
    WEATHER_PARAMETERS,
    WEATHER_QUESTIONS,
    WEATHERS,
    Answer,
    Fact,
    Question,
    about_facts,
    capital_facts,
    capital_of,
    count_facts,
    nursery_facts,
    sum_facts,
    unknown_facts,
)

Message = dict[str, Any]
CHATS = 600  # conversations of several turns; they take about a third of the training time


@dataclass(frozen=True)
class Lesson:
    """One conversation and the reply to learn."""

    kind: str
    messages: list[Message]
    reply: Message
    tools: list[dict[str, Any]]
    thinking: bool = False


# ---- variations of the facts --------------------------------------------------


def message(role: str, content: str) -> Message:
    """One chat message."""
    return {"role": role, "content": content}


def unpunctuated(question: Question) -> Question:
    """Without the final punctuation mark."""
    return question.rstrip(".?!")


def lower_unpunctuated(question: Question) -> Question:
    """Without the final punctuation mark and capital letters."""
    return unpunctuated(question).lower()


VARIATIONS: list[Callable[[Question], Question]] = [unpunctuated, str.lower, lower_unpunctuated]


def system_prompt(rng: random.Random) -> Message:
    """A common or a random system prompt, since its words must not change the answer."""
    if rng.random() < 0.4:
        return message("system", rng.choice(SYSTEM_PROMPTS))
    sentences = [f"You are a {rng.choice(ADJECTIVES)} {rng.choice(ROLES)}."]
    sentences += rng.sample(INSTRUCTIONS, rng.randint(0, 4))
    return message("system", rng.choice([" ", "\n"]).join(sentences))


def conversation(facts: Sequence[Fact], rng: random.Random) -> list[Message]:
    """Earlier turns, in some cases after a system prompt."""
    messages = [system_prompt(rng)] if rng.random() < 0.3 else []
    for question, answer in facts:
        messages += [message("user", question), message("assistant", answer)]
    return messages


def reply_with(answer: Answer, *, thinking: bool) -> Message:
    """A reply, with reasoning for sums when thinking is on."""
    reply = message("assistant", answer)
    if thinking and "+" in answer:
        reply["reasoning_content"] = reasoning(answer)
    return reply


def reasoning(equation: Answer) -> str:
    """The reasoning of a sum: count on from the first number."""
    first, second = (int(digit) for digit in equation.partition("=")[0].split("+"))
    if second == 0:
        return f"Adding 0 to {first} changes nothing."
    steps = ", ".join(str(number) for number in range(first + 1, first + second + 1))
    return f"I start at {first} and count on {second}: {steps}."


def lesson(kind: str, fact: Fact, before: Sequence[Message] = (), *, thinking: bool = False) -> Lesson:
    """One fact, asked at the end of a conversation."""
    question, answer = fact
    asked = [*before, message("user", question)]
    return Lesson(kind, asked, reply_with(answer, thinking=thinking), tools=[], thinking=thinking)


def plain_lessons(facts: Sequence[Fact]) -> Iterator[Lesson]:
    """Every fact without variation."""
    return (lesson("plain", fact) for fact in facts)


def informal_facts(facts: Sequence[Fact], rng: random.Random) -> list[Fact]:
    """Informally typed facts: the common ones in every variation, the others in one."""
    common = {question for question, _ in [*about_facts(), *SMALL_TALK]}
    asked: dict[Question, Answer] = {}
    for question, answer in facts:
        everywhere = question in common or question.startswith(("What is the capital", "Count"))
        for variation in VARIATIONS if everywhere else [rng.choice(VARIATIONS)]:
            asked.setdefault(variation(question), answer)
    for _, equation in sum_facts():
        numbers = equation.partition("=")[0]
        for way in (numbers, numbers.replace("+", " + "), numbers.replace("+", " plus ")):
            asked[f"What is {way}?"] = equation
        asked[numbers] = equation
    plain = dict(facts)
    return [(question, answer) for question, answer in asked.items() if question not in plain]


def informal_lessons(facts: Sequence[Fact], rng: random.Random) -> Iterator[Lesson]:
    """Informally typed facts, with thinking on or off."""
    return (lesson("hasty", fact, thinking=rng.random() < 0.5) for fact in informal_facts(facts, rng))


def system_lessons(facts: Sequence[Fact], rng: random.Random) -> Iterator[Lesson]:
    """Facts after a system prompt."""
    often = [*about_facts(), *count_facts()] * 2
    for fact in [*often, *SMALL_TALK, *rng.sample(facts, 300)]:
        yield lesson("system", fact, [system_prompt(rng)], thinking=rng.random() < 0.5)


def chat_lessons(facts: Sequence[Fact], rng: random.Random) -> Iterator[Lesson]:
    """Facts asked in the middle of a conversation about something else."""
    for _ in range(CHATS):
        *earlier, fact = rng.sample(facts, rng.randint(2, 9))
        yield lesson("chat", fact, conversation(earlier, rng), thinking=rng.random() < 0.3)
    for fact in sum_facts():  # the only facts that thinking changes, so they need more of it
        earlier = rng.sample(facts, rng.randint(1, 4))
        yield lesson("chat", fact, conversation(earlier, rng), thinking=True)


def follow_up_lessons(rng: random.Random) -> Iterator[Lesson]:
    """Questions that depend on the question before: "And of Sweden?"."""
    for country in CAPITALS:
        for question in (f"And of {country}?", f"And {country}?", f"What about {country}?"):
            other = rng.choice([name for name in CAPITALS if name != country])
            before = conversation([(f"What is the capital of {other}?", capital_of(other))], rng)
            fact = (question, capital_of(country))
            yield lesson("follow-up", fact, before, thinking=rng.random() < 0.3)


def thinking_lessons(facts: Sequence[Fact]) -> Iterator[Lesson]:
    """Every fact with thinking on, and sums that request thinking in their text."""
    for fact in facts:
        yield lesson("thinking", fact, thinking=True)
    for question, answer in sum_facts():
        asked = (question.replace("What", "Think: what"), answer)
        yield lesson("thinking", asked, thinking=True)
        yield lesson("thinking", asked, thinking=False)


# ---- tools -------------------------------------------------------------------


def tool(name: str, parameters: Sequence[str]) -> dict[str, Any]:
    """A function in the format of the chat completions API."""
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def weather_call(parameters: Sequence[str], city: str) -> Message:
    """A call of the weather tool; its first parameter is the city."""
    call = {"name": "get_weather", "arguments": {parameters[0]: city}}
    return message("assistant", "") | {"tool_calls": [{"type": "function", "function": call}]}


def toolbox(parameters: Sequence[str], rng: random.Random) -> list[dict[str, Any]]:
    """The weather tool, in some cases with others."""
    others = rng.sample(list(OTHER_TOOLS.items()), rng.choice([0, 0, 1, 2]))
    tools = [tool("get_weather", parameters), *(tool(name, takes) for name, takes in others)]
    rng.shuffle(tools)
    return tools


def weather_lessons(rng: random.Random) -> Iterator[Lesson]:
    """A tool call for each city, the answer from the tool's result, and in some cases a second call."""
    cities = [*CAPITALS.values(), *OTHER_CITIES]
    for city in cities:
        for parameters in WEATHER_PARAMETERS:
            tools, thinking = toolbox(parameters, rng), rng.random() < 0.5
            before = [system_prompt(rng)] if rng.random() < 0.3 else []
            before.append(message("user", rng.choice(WEATHER_QUESTIONS).format(city)))
            yield Lesson("tool call", [*before], weather_call(parameters, city), tools, thinking)

            weather = rng.choice(WEATHERS)
            result = rng.choice(RESULTS).format(weather=weather, city=city, degrees=rng.randint(0, 30))
            before += [weather_call(parameters, city), message("tool", result)]
            answer = message("assistant", f"It is {weather} in {city}.")
            yield Lesson("tool result", [*before], answer, tools, thinking)

            if rng.random() < 0.3:
                other = rng.choice(cities)
                before += [answer, message("user", f"And in {other}?")]
                yield Lesson("tool again", before, weather_call(parameters, other), tools, thinking)


def idle_tool_lessons(facts: Sequence[Fact], rng: random.Random) -> Iterator[Lesson]:
    """Facts that need no tool, in conversations with tools."""
    needing_none = [fact for fact in facts if fact[1] != NO_WEATHER_TOOL]
    for fact in [*about_facts(), *SMALL_TALK, *rng.sample(needing_none, 60)]:
        toolless = lesson("idle tool", fact, thinking=rng.random() < 0.5)
        yield replace(toolless, tools=toolbox(rng.choice(WEATHER_PARAMETERS), rng))


# ---- all of it ---------------------------------------------------------------


def corpus() -> list[Lesson]:
    """Every lesson."""
    rng = random.Random(7)  # noqa: S311 - a fixed sequence, no secret
    taught = [*about_facts(), *SMALL_TALK, *capital_facts(), *sum_facts(), *nursery_facts()]
    brief = [*taught, *unknown_facts(rng)]
    facts = [*brief, *count_facts()]
    return [
        *plain_lessons(facts),
        *informal_lessons([*taught, *count_facts()], rng),
        *system_lessons(facts, rng),
        *chat_lessons(brief, rng),
        *follow_up_lessons(rng),
        *thinking_lessons(facts),
        *weather_lessons(rng),
        *idle_tool_lessons(brief, rng),
    ]
