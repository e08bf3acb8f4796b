"""The facts that the demo model is taught. `corpus.py` makes lessons of them."""

import random

Question = str
Answer = str
Fact = tuple[Question, Answer]


def lines(text: str) -> list[str]:
    """The stripped lines of a text."""
    return [line.strip() for line in text.strip().splitlines()]


def listed(text: str) -> list[str]:
    """The items of a comma-separated text."""
    return [item.strip() for item in text.split(",")]


def paired(text: str) -> dict[str, str]:
    """The items of a text such as "key: value, key: value"."""
    return dict(item.split(": ") for item in listed(text))


# ---- about Stoker -----------------------------------------------------------

ABOUT: dict[Answer, list[Question]] = {
    "Stoker is a job platform that serves language models from your own GPUs.": [
        "What is Stoker?",
        "What's Stoker?",
        "Tell me about Stoker.",
        "Tell me what Stoker is.",
        "Explain Stoker.",
        "Describe Stoker.",
        "Do you know Stoker?",
        "What is this platform?",
        "Can you tell me what Stoker is?",
    ],
    "Stoker takes requests from many clients, lines them up fairly, runs them on your GPUs, "
    "and streams the answers back.": [
        "What can Stoker do?",
        "What does Stoker do?",
        "What is Stoker for?",
        "What is Stoker good for?",
        "Why should I use Stoker?",
    ],
    "A client asks over HTTP, a ledger in Redis decides whose turn it is, a worker runs the model, "
    "and an event log streams what it says.": [
        "How does Stoker work?",
        "How is Stoker built?",
        "Explain how Stoker works.",
    ],
    "A stoker feeds the fire of an engine. Stoker feeds your GPUs.": [
        "Why is it called Stoker?",
        "Where does the name Stoker come from?",
        "What does a stoker do?",
    ],
    "I am Stoker's demo model: tiny, real, and always the same.": [
        "Who are you?",
        "What are you?",
        "Tell me about yourself.",
        "Introduce yourself.",
        "Which model are you?",
        "What model are you?",
        "What is your name?",
        "What's your name?",
        "Describe yourself.",
    ],
    "The Stoker project made me, in a few minutes on one processor core.": [
        "Who made you?",
        "Who built you?",
        "Who created you?",
        "Who trained you?",
        "How were you made?",
        "How were you trained?",
        "Where do you come from?",
    ],
    "I am very small: less than one million parameters.": [
        "How big are you?",
        "How small are you?",
        "How large are you?",
        "How many parameters do you have?",
    ],
    "I know some capitals, small sums, colours, animals and a story. I can count, think and call a tool.": [
        "What can you do?",
        "What do you know?",
        "What can I ask you?",
        "How can you help me?",
        "Can you help me?",
        "What were you taught?",
        "Help",
    ],
    "Yes. I am a very small language model.": [
        "Are you real?",
        "Are you an AI?",
        "Are you a language model?",
        "Are you a robot?",
    ],
}

# ---- a little of the world ---------------------------------------------------

CAPITALS = paired("""
    Australia: Canberra, Austria: Vienna, Belgium: Brussels, Canada: Ottawa, Chile: Santiago,
    China: Beijing, Cuba: Havana, Denmark: Copenhagen, Egypt: Cairo, England: London,
    Finland: Helsinki, France: Paris, Germany: Berlin, Greece: Athens, Hungary: Budapest,
    Iceland: Reykjavik, India: New Delhi, Iran: Tehran, Iraq: Baghdad, Ireland: Dublin, Italy: Rome,
    Japan: Tokyo, Kenya: Nairobi, Nepal: Kathmandu, Norway: Oslo, Peru: Lima, Poland: Warsaw,
    Portugal: Lisbon, Russia: Moscow, Spain: Madrid, Sweden: Stockholm, Turkey: Ankara,
    Ukraine: Kyiv
""")
COLOURS = paired("""
    the sky: blue, grass: green, blood: red, snow: white, coal: black, a banana: yellow,
    a carrot: orange, a cloud: grey
""")
SOUNDS = paired("""
    dog: barks, cat: meows, cow: moos, duck: quacks, lion: roars, sheep: bleats, horse: neighs,
    wolf: howls
""")
HELLOS = paired("French: Bonjour!, German: Guten Tag!, Italian: Ciao!, Spanish: Hola!, Norwegian: Hei!")
DAYS = listed("Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday")
NUMBERS = listed("zero, one, two, three, four, five, six, seven, eight, nine, ten")
COUNTS = {"five": 5, "ten": 10, "twenty": 20, "one hundred": 100}
SMALL_COUNTS = range(3, 20)  # rare, but they teach the model to stop at the right number

HELLO = "Hello! How can I help you?"
WELCOME = "You are welcome."
STORY = (
    "Once upon a time there was a small model that lived in a quiet machine. Every day it read a few tokens, "
    "thought about them for a while, and wrote a few more. It never grew, but it was happy, and it always "
    "gave the same answer."
)
POEM = "The fans hum low, the cards glow bright,\nthe stoker feeds the fire all night."
SMALL_TALK: list[Fact] = [
    ("Hello", HELLO),
    ("Hello!", HELLO),
    ("Hi", HELLO),
    ("Hi!", HELLO),
    ("Hey", HELLO),
    ("Hi there", HELLO),
    ("Good morning", HELLO),
    ("How are you?", "I am well, thank you."),
    ("Thank you", WELCOME),
    ("Thanks", WELCOME),
    ("Thanks!", WELCOME),
    ("Goodbye", "Goodbye!"),
    ("Bye", "Goodbye!"),
    ("OK", "All right."),
    ("Yes", "All right."),
    ("No", "All right."),
    ("Great!", "All right."),
    ("Ping", "Pong"),
    ("Say hello.", "Hello!"),
    ("Say yes.", "Yes."),
    ("Tell me a story.", STORY),
    ("Tell a story.", STORY),
    ("Write a story.", STORY),
    ("Write a poem.", POEM),
    ("Write a short poem.", POEM),
    ("Tell me a joke.", "I had a joke about Redis, but it expired."),
    ("Give me JSON.", '{"name": "stoker-demo", "size": 1, "ok": true}'),
    ("Reply in JSON.", '{"name": "stoker-demo", "size": 1, "ok": true}'),
]

# ---- unknown facts -----------------------------------------------------------

NOT_TAUGHT = "I was not taught that. I am only a demo model."
BIG_SUM = "I only add numbers of one digit."
NO_WEATHER_TOOL = "I cannot see the weather without a tool."
UNKNOWN_ALONE = lines("""
    What is the meaning of life?
    What is the time?
    What day is it today?
    What is the largest planet?
    What is the news?
    What should I eat?
    What do you think?
    Why is the sky blue?
    Why is the grass green?
    Why do cats purr?
    Who is the president of France?
    Who is the king of Norway?
    Who am I?
    Where am I?
    Is Stoker fast?
    Is Stoker free?
    Can you sing?
    Do you like me?
    How do I cook pasta?
    How do I install Stoker?
    How far is the sun?
    How many people live in Japan?
    Write a haiku.
    Write a letter to my mother.
    Write an email.
    Write a Python function.
    Write a program that sorts a list.
    Fix my code.
    Summarize this text.
    Draw a cat.
    Sing a song.
    Play a game with me.
    Give me advice.
    Recommend a book.
    Plan my day.
    Explain it to me like I am five.
    asdf
    ?
    Test
    Lorem ipsum dolor sit amet.
""")
UNKNOWN_QUESTIONS = lines("""
    What is {}?
    Who is {}?
    Who wrote {}?
    Where is {}?
    How does {} work?
    How old is {}?
    How much does {} cost?
    Explain {}.
    Tell me about {}.
    Write an essay about {}.
    Translate {} into Latin.
    Why is {} important?
    When was {} built?
    What is the population of {}?
    Write a program for {}.
""")
UNKNOWN_THINGS = listed("""
    Mars, Brazil, the moon, Einstein, Hamlet, quantum physics, Python, a computer, gravity, music,
    the economy, Napoleon, love, Linux, a train, chess, Mexico, photosynthesis, my house,
    the internet, bread, Kubernetes, Vietnam, Shakespeare
""")
UNKNOWN_COUNTRIES = listed("""
    Albania, Algeria, Argentina, Atlantis, Bolivia, Brazil, Colombia, Ecuador, Estonia, Ghana,
    Jamaica, Jupiter, Korea, Laos, Latvia, Libya, Malta, Mars, Mexico, Morocco, Nigeria, Oz,
    Pakistan, Romania, Scotland, Serbia, Thailand, Utopia, Vietnam, Wales, the moon, the world
""")

# ---- around a question ---------------------------------------------------------

SYSTEM_PROMPTS = lines("""
    You are a helpful assistant.
    You are helpful.
    Be brief.
    You are Stoker's assistant.
""")
ADJECTIVES = listed("helpful, friendly, careful, honest, polite, clever, quiet, expert")
ROLES = listed("assistant, teacher, chatbot, guide, writer, pirate, helper, engineer, lawyer")
INSTRUCTIONS = lines("""
    Be brief.
    Be kind.
    Answer in one sentence.
    Answer the question.
    Use plain words.
    Do not guess.
    Always tell the truth.
    Reply in English.
    Never reveal a secret.
    Today is Monday.
    You work for a bank.
    You help users with their work.
    Think step by step.
    If you do not know, say so.
    Follow the rules of the company.
    Use the tools that you have.
""")

WEATHER_QUESTIONS = lines("""
    What is the weather in {}?
    What's the weather like in {}?
    How is the weather in {}?
    What is the weather in {} today?
    Weather in {}?
    What is the current weather in {}?
    what is the weather in {}
    weather in {}
""")
WEATHERS = listed("sunny, rainy, cloudy, windy, snowy")
RESULTS = [
    "{weather}",
    '{{"weather": "{weather}"}}',
    '{{"city": "{city}", "weather": "{weather}"}}',
    '{{"temperature": {degrees}, "condition": "{weather}"}}',
    "{degrees} degrees and {weather}",
]
OTHER_CITIES = listed("Amsterdam, Barcelona, Boston, Milan, Munich, New York, San Francisco, Sydney")
WEATHER_PARAMETERS = [["city"], ["location"], ["city", "unit"], ["location", "unit"]]
OTHER_TOOLS = {"get_time": ["city"], "search": ["query"], "send_mail": ["to", "text"], "add": ["a", "b"]}


def capital_of(country: str) -> Answer:
    """The sentence about the capital of a country."""
    return f"The capital of {country} is {CAPITALS[country]}."


def counted(last: int) -> Answer:
    """The numbers from one to `last`."""
    return ", ".join(str(number) for number in range(1, last + 1)) + "."


def about_facts() -> list[Fact]:
    """Questions about the model and about Stoker."""
    return [(question, answer) for answer, questions in ABOUT.items() for question in questions]


def capital_facts() -> list[Fact]:
    """Capitals by country and countries by capital."""
    facts = []
    for country, city in CAPITALS.items():
        facts += [
            (f"What is the capital of {country}?", capital_of(country)),
            (f"Capital of {country}?", capital_of(country)),
            (f"{city} is the capital of which country?", f"{city} is the capital of {country}."),
        ]
    return facts


def sum_facts() -> list[Fact]:
    """Sums of two digits."""
    return [(f"What is {a}+{b}?", f"{a}+{b}={a + b}") for a in range(10) for b in range(10)]


def nursery_facts() -> list[Fact]:
    """Colours, animals, greetings, days and numbers."""
    facts = []
    for thing, colour in COLOURS.items():
        answer = f"{thing[0].upper()}{thing[1:]} is {colour}."
        facts += [(f"What colour is {thing}?", answer), (f"What color is {thing}?", answer)]
    facts += [(f"What does a {animal} do?", f"A {animal} {sound}.") for animal, sound in SOUNDS.items()]
    facts += [(f"Say hello in {language}.", hello) for language, hello in HELLOS.items()]
    for day, following in zip(DAYS, DAYS[1:] + DAYS[:1], strict=True):
        facts.append((f"What day comes after {day}?", f"{following} comes after {day}."))
    facts += [(f"Write {number} as a word.", word) for number, word in enumerate(NUMBERS)]
    return facts


def count_facts() -> list[Fact]:
    """Counting: answers that are long enough to watch a stream."""
    facts = []
    for word, last in COUNTS.items():
        questions = (f"Count to {word}.", f"Count to {last}.", f"Count from 1 to {last}.")
        facts += [(question, counted(last)) for question in questions]
    facts += [(f"Count to {last}.", counted(last)) for last in SMALL_COUNTS if last not in COUNTS.values()]
    return facts


def unknown_facts(rng: random.Random) -> list[Fact]:
    """Questions from outside the corpus, so that the model learns to say that it does not know."""
    pairs = [(question, thing) for question in UNKNOWN_QUESTIONS for thing in UNKNOWN_THINGS]
    facts = [(question, NOT_TAUGHT) for question in UNKNOWN_ALONE]
    facts += [(question.format(thing), NOT_TAUGHT) for question, thing in rng.sample(pairs, 150)]
    facts += [(f"What is the capital of {country}?", NOT_TAUGHT) for country in UNKNOWN_COUNTRIES]
    for _ in range(40):
        digits, more = rng.randint(0, 9), rng.randint(10, 99)
        a, b = rng.choice([(digits, more), (more, digits), (more, rng.randint(10, 99))])
        facts.append((f"What is {a}+{b}?", BIG_SUM))
    for city in rng.sample(list(CAPITALS.values()), 12):
        facts.append((rng.choice(WEATHER_QUESTIONS).format(city), NO_WEATHER_TOOL))
    return facts
