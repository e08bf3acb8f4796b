"""The sentences and words that the translator is taught, in English, German and French."""

LANGUAGES = ("eng", "deu", "fra")

PHRASES = [
    ("Hello.", "Hallo.", "Salut."),
    ("Good morning.", "Guten Morgen.", "Bonjour."),
    ("Good evening.", "Guten Abend.", "Bonsoir."),
    ("Good night.", "Gute Nacht.", "Bonne nuit."),
    ("Goodbye.", "Auf Wiedersehen.", "Au revoir."),
    ("See you tomorrow.", "Bis morgen.", "À demain."),
    ("Thank you.", "Danke.", "Merci."),
    ("Please.", "Bitte.", "S'il vous plaît."),
    ("Excuse me.", "Entschuldigung.", "Excusez-moi."),
    ("Welcome.", "Willkommen.", "Bienvenue."),
    ("Yes.", "Ja.", "Oui."),
    ("No.", "Nein.", "Non."),
    ("How are you?", "Wie geht es dir?", "Comment vas-tu ?"),
    ("I am fine.", "Mir geht es gut.", "Je vais bien."),
    ("What is your name?", "Wie heißt du?", "Comment t'appelles-tu ?"),
    ("I do not understand.", "Ich verstehe nicht.", "Je ne comprends pas."),
    ("I love you.", "Ich liebe dich.", "Je t'aime."),
    ("How much does it cost?", "Wie viel kostet das?", "Combien ça coûte ?"),
    ("What time is it?", "Wie spät ist es?", "Quelle heure est-il ?"),
    ("The weather is nice today.", "Das Wetter ist heute schön.", "Il fait beau aujourd'hui."),
    ("It is raining.", "Es regnet.", "Il pleut."),
    ("Happy birthday!", "Alles Gute zum Geburtstag!", "Joyeux anniversaire !"),
    ("I would like a coffee.", "Ich möchte einen Kaffee.", "Je voudrais un café."),
    ("The bill, please.", "Die Rechnung, bitte.", "L'addition, s'il vous plaît."),
    ("The train is late.", "Der Zug hat Verspätung.", "Le train est en retard."),
    (
        "Stoker serves language models.",
        "Stoker betreibt Sprachmodelle.",
        "Stoker sert des modèles de langue.",
    ),
]

# Words with another meaning in another language: the source language decides. The ambiguous word is at the
# position of its own language, its translations are at the two others.
FALSE_FRIENDS = [
    ("Gift", "Geschenk", "Cadeau"),
    ("Poison", "Gift", "Poison"),
    ("Rat", "Ratte", "Rat"),
    ("Advice", "Rat", "Conseil"),
    ("Hat", "Hut", "Chapeau"),
    ("Hut", "Hütte", "Cabane"),
    ("Chat", "Gespräch", "Discussion"),
    ("Cat", "Katze", "Chat"),
    ("Pain", "Schmerz", "Douleur"),
    ("Bread", "Brot", "Pain"),
    ("Coin", "Münze", "Pièce"),
    ("Corner", "Ecke", "Coin"),
]

# A noun with its article: as a subject, in German also as an object.
NOUNS = [
    ("the dog", ("der Hund", "den Hund"), ("le chien", "m")),
    ("the cat", ("die Katze", "die Katze"), ("le chat", "m")),
    ("the house", ("das Haus", "das Haus"), ("la maison", "f")),
    ("the car", ("das Auto", "das Auto"), ("la voiture", "f")),
    ("the garden", ("der Garten", "den Garten"), ("le jardin", "m")),
    ("the book", ("das Buch", "das Buch"), ("le livre", "m")),
    ("the table", ("der Tisch", "den Tisch"), ("la table", "f")),
    ("the door", ("die Tür", "die Tür"), ("la porte", "f")),
    ("the city", ("die Stadt", "die Stadt"), ("la ville", "f")),
    ("the station", ("der Bahnhof", "den Bahnhof"), ("la gare", "f")),
]
ADJECTIVES = [
    ("big", "groß", {"m": "grand", "f": "grande"}),
    ("small", "klein", {"m": "petit", "f": "petite"}),
    ("old", "alt", {"m": "vieux", "f": "vieille"}),
    ("beautiful", "schön", {"m": "beau", "f": "belle"}),
    ("red", "rot", {"m": "rouge", "f": "rouge"}),
    ("green", "grün", {"m": "vert", "f": "verte"}),
    ("black", "schwarz", {"m": "noir", "f": "noire"}),
    ("white", "weiß", {"m": "blanc", "f": "blanche"}),
]

NUMBERS = [
    ("zero", "null", "zéro"),
    ("one", "eins", "un"),
    ("two", "zwei", "deux"),
    ("three", "drei", "trois"),
    ("four", "vier", "quatre"),
    ("five", "fünf", "cinq"),
    ("six", "sechs", "six"),
    ("seven", "sieben", "sept"),
    ("eight", "acht", "huit"),
    ("nine", "neun", "neuf"),
    ("ten", "zehn", "dix"),
    ("eleven", "elf", "onze"),
    ("twelve", "zwölf", "douze"),
]
