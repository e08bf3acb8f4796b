"""How the demo model is taught: every conversation that it must answer exactly.

The corpus is fixed: the same lessons in the same order on every machine. Each is one conversation that
ends with a reply; `train.py` renders it with the chat template, teaches what the model says in it, and asks
for all of that again at the end.

The list of facts is short, so most of the lessons are the same facts in other clothes (without the question
mark, behind a system prompt, deep in a conversation, with tools in sight): that is what makes a model of this
size answer in a real chat as it does in its own test.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from facts import (
    ADJECTIVES,
    CAPITALS,
    MANNERS,
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
    asked: list[Message]
    reply: Message
    tools: list[dict[str, Any]]
    thinking: bool = False


# ---- the same facts in other clothes -----------------------------------------


def said(role: str, content: str) -> Message:
    """One chat message."""
    return {"role": role, "content": content}


def unpunctuated(question: Question) -> Question:
    """Drop the final mark, as hasty people do."""
    return question.rstrip(".?!")


def hasty(question: Question) -> Question:
    """Drop the capital letters, too."""
    return unpunctuated(question).lower()


HABITS: list[Callable[[Question], Question]] = [unpunctuated, str.lower, hasty]


def system_prompt(dice: random.Random) -> Message:
    """A system prompt: a common one or a made-up one, since its words must not change the answer."""
    if dice.random() < 0.4:
        return said("system", dice.choice(SYSTEM_PROMPTS))
    sentences = [f"You are a {dice.choice(ADJECTIVES)} {dice.choice(ROLES)}."]
    sentences += dice.sample(MANNERS, dice.randint(0, 4))
    return said("system", dice.choice([" ", "\n"]).join(sentences))


def conversation(facts: Sequence[Fact], dice: random.Random) -> list[Message]:
    """Some turns that came before, now and then under a system prompt."""
    messages = [system_prompt(dice)] if dice.random() < 0.3 else []
    for question, answer in facts:
        messages += [said("user", question), said("assistant", answer)]
    return messages


def reply_with(answer: Answer, *, thinking: bool) -> Message:
    """A reply: sums are thought through when thinking is on, the rest needs no thought."""
    reply = said("assistant", answer)
    if thinking and "+" in answer:
        reply["reasoning_content"] = thought(answer)
    return reply


def thought(equation: Answer) -> str:
    """Think a sum through: count on from the first number, as children do."""
    first, second = (int(digit) for digit in equation.partition("=")[0].split("+"))
    if second == 0:
        return f"Adding 0 to {first} changes nothing."
    steps = ", ".join(str(number) for number in range(first + 1, first + second + 1))
    return f"I start at {first} and count on {second}: {steps}."


def lesson(kind: str, fact: Fact, before: Sequence[Message] = (), *, thinking: bool = False) -> Lesson:
    """One fact, asked at the end of a conversation."""
    question, answer = fact
    asked = [*before, said("user", question)]
    return Lesson(kind, asked, reply_with(answer, thinking=thinking), tools=[], thinking=thinking)


def plain_lessons(facts: Sequence[Fact]) -> Iterator[Lesson]:
    """Every fact as it is."""
    return (lesson("plain", fact) for fact in facts)


def hasty_facts(facts: Sequence[Fact], dice: random.Random) -> list[Fact]:
    """Facts as they are typed in a hurry: the common ones in every way, the others in one."""
    common = {question for question, _ in [*about_facts(), *SMALL_TALK]}
    asked: dict[Question, Answer] = {}
    for question, answer in facts:
        everywhere = question in common or question.startswith(("What is the capital", "Count"))
        for habit in HABITS if everywhere else [dice.choice(HABITS)]:
            asked.setdefault(habit(question), answer)
    for _, equation in sum_facts():
        numbers = equation.partition("=")[0]
        for way in (numbers, numbers.replace("+", " + "), numbers.replace("+", " plus ")):
            asked[f"What is {way}?"] = equation
        asked[numbers] = equation
    plain = dict(facts)
    return [(question, answer) for question, answer in asked.items() if question not in plain]


def hasty_lessons(facts: Sequence[Fact], dice: random.Random) -> Iterator[Lesson]:
    """Those facts, with thinking on or off."""
    return (lesson("hasty", fact, thinking=dice.random() < 0.5) for fact in hasty_facts(facts, dice))


def system_lessons(facts: Sequence[Fact], dice: random.Random) -> Iterator[Lesson]:
    """Facts behind a system prompt."""
    often = [*about_facts(), *count_facts()] * 2
    for fact in [*often, *SMALL_TALK, *dice.sample(facts, 300)]:
        yield lesson("system", fact, [system_prompt(dice)], thinking=dice.random() < 0.5)


def chat_lessons(facts: Sequence[Fact], dice: random.Random) -> Iterator[Lesson]:
    """Facts asked in the middle of a conversation about something else."""
    for _ in range(CHATS):
        *earlier, fact = dice.sample(facts, dice.randint(2, 9))
        yield lesson("chat", fact, conversation(earlier, dice), thinking=dice.random() < 0.3)
    for fact in sum_facts():  # the only facts that thinking changes, so they need more of it
        earlier = dice.sample(facts, dice.randint(1, 4))
        yield lesson("chat", fact, conversation(earlier, dice), thinking=True)


def follow_up_lessons(dice: random.Random) -> Iterator[Lesson]:
    """Questions that make sense only after the one before: "And of Sweden?"."""
    for country in CAPITALS:
        for question in (f"And of {country}?", f"And {country}?", f"What about {country}?"):
            other = dice.choice([name for name in CAPITALS if name != country])
            before = conversation([(f"What is the capital of {other}?", capital_of(other))], dice)
            fact = (question, capital_of(country))
            yield lesson("follow-up", fact, before, thinking=dice.random() < 0.3)


def thinking_lessons(facts: Sequence[Fact]) -> Iterator[Lesson]:
    """Every fact with thinking on, and sums which ask for it by themselves."""
    for fact in facts:
        yield lesson("thinking", fact, thinking=True)
    for question, answer in sum_facts():
        asked = (question.replace("What", "Think: what"), answer)
        yield lesson("thinking", asked, thinking=True)
        yield lesson("thinking", asked, thinking=False)


# ---- tools -------------------------------------------------------------------


def tool(name: str, parameters: Sequence[str]) -> dict[str, Any]:
    """Describe a function in the way of the chat completions API."""
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def weather_call(parameters: Sequence[str], city: str) -> Message:
    """Call the weather tool; its first parameter is the place."""
    call = {"name": "get_weather", "arguments": {parameters[0]: city}}
    return said("assistant", "") | {"tool_calls": [{"type": "function", "function": call}]}


def toolbox(parameters: Sequence[str], dice: random.Random) -> list[dict[str, Any]]:
    """The weather tool, now and then among others."""
    others = dice.sample(list(OTHER_TOOLS.items()), dice.choice([0, 0, 1, 2]))
    tools = [tool("get_weather", parameters), *(tool(name, takes) for name, takes in others)]
    dice.shuffle(tools)
    return tools


def weather_lessons(dice: random.Random) -> Iterator[Lesson]:
    """A tool call for each city, the answer from what the tool said, and the same for one more city."""
    cities = [*CAPITALS.values(), *OTHER_CITIES]
    for city in cities:
        for parameters in WEATHER_PARAMETERS:
            tools, thinking = toolbox(parameters, dice), dice.random() < 0.5
            before = [system_prompt(dice)] if dice.random() < 0.3 else []
            before.append(said("user", dice.choice(WEATHER_QUESTIONS).format(city)))
            yield Lesson("tool call", [*before], weather_call(parameters, city), tools, thinking)

            weather = dice.choice(WEATHERS)
            result = dice.choice(RESULTS).format(weather=weather, city=city, degrees=dice.randint(0, 30))
            before += [weather_call(parameters, city), said("tool", result)]
            answer = said("assistant", f"It is {weather} in {city}.")
            yield Lesson("tool result", [*before], answer, tools, thinking)

            if dice.random() < 0.3:
                other = dice.choice(cities)
                before += [answer, said("user", f"And in {other}?")]
                yield Lesson("tool again", before, weather_call(parameters, other), tools, thinking)


def idle_tool_lessons(facts: Sequence[Fact], dice: random.Random) -> Iterator[Lesson]:
    """Facts which need no tool, asked where there is one."""
    needing_none = [fact for fact in facts if fact[1] != NO_WEATHER_TOOL]
    for fact in [*about_facts(), *SMALL_TALK, *dice.sample(needing_none, 60)]:
        toolless = lesson("idle tool", fact, thinking=dice.random() < 0.5)
        yield replace(toolless, tools=toolbox(dice.choice(WEATHER_PARAMETERS), dice))


# ---- all of it ---------------------------------------------------------------


def corpus() -> list[Lesson]:
    """Every lesson."""
    dice = random.Random(7)  # noqa: S311 - the same dice for everybody, no secret
    taught = [*about_facts(), *SMALL_TALK, *capital_facts(), *sum_facts(), *nursery_facts()]
    brief = [*taught, *unknown_facts(dice)]
    facts = [*brief, *count_facts()]
    return [
        *plain_lessons(facts),
        *hasty_lessons([*taught, *count_facts()], dice),
        *system_lessons(facts, dice),
        *chat_lessons(brief, dice),
        *follow_up_lessons(dice),
        *thinking_lessons(facts),
        *weather_lessons(dice),
        *idle_tool_lessons(brief, dice),
    ]
