"""Messages, tools and their parts as clients send them, in both dialects' spelling."""

from __future__ import annotations

from api.schemas.strict_fields import Choice, Either, Flag, Items, Object, Part, Tagged, Text
from api.schemas.strict_schema import Shape

ROLES = ("system", "developer", "user", "assistant", "tool")
FUNCTION_NAME = "[a-zA-Z0-9_.-]{1,64}"
DETAILS = ("auto", "low", "high", "original")
TOOL_CHOICES = ("none", "auto", "required")
TOOLS_MOST = 128
IMAGE = "a data: URL, in base64, of a PNG, JPEG, WebP or GIF file."


class TextPart(Shape):
    """A piece of text."""

    type = Choice("What it is.", ("text", "input_text", "output_text", "summary_text", "reasoning_text"))
    text = Text("The text.", required=True)


class RefusalPart(Shape):
    """A refusal that the assistant gave earlier."""

    type = Choice("What it is.", ("refusal",), required=True)
    refusal = Text("The text.", required=True)


class ImagePart(Shape):
    """An image, as the Responses API has it. User messages may hold some, for models that take images."""

    type = Choice("What it is.", ("input_image",), required=True)
    image_url = Text(f"The image itself: {IMAGE}")
    detail = Choice("How closely to look, for engines that can be told.", DETAILS)
    file_id = Text("Not supported.")


class ImageUrl(Shape):
    """Where an image is."""

    url = Text(f"Here: {IMAGE}", required=True)
    detail = Choice("How closely to look, for engines that can be told.", DETAILS)


class ChatImagePart(Shape):
    """An image, as Chat Completions has it. User messages may hold some, for models that take images."""

    type = Choice("What it is.", ("image_url",), required=True)
    image_url = Part("The image.", ImageUrl, required=True)


class CalledFunction(Shape):
    """The function of a tool call."""

    name = Text("Which function.", required=True, pattern=FUNCTION_NAME)
    arguments = Text("Its arguments: a JSON text, as the model wrote it.", required=True)


class ChatToolCall(Shape):
    """A call the assistant made earlier."""

    id = Text("The call's id, which the tool's message repeats.", required=True, least=1, most=256)
    type = Choice("Always `function`.", ("function",))
    function = Part("The function and its arguments.", CalledFunction, required=True)


class ChatMessage(Shape):
    """One message of the conversation."""

    role = Choice("Who speaks; `developer` is taken as `system`.", ROLES, required=True)
    content = Either(
        "What is said.",
        Text("The text."),
        Items(
            "Pieces of it.",
            Tagged(
                "A piece.",
                {"text": TextPart, "refusal": RefusalPart, "image_url": ChatImagePart},
                code="unsupported_input",
            ),
        ),
    )
    name = Text("Ignored.")
    reasoning_content = Text("What the assistant thought before it answered.")
    tool_calls = Items("Calls the assistant made.", Part("A call.", ChatToolCall), most=TOOLS_MOST)
    tool_call_id = Text("Which call a `tool` message answers.", least=1, most=256)


class ChatFunction(Shape):
    """A function the model may call."""

    name = Text("Its name.", required=True, pattern=FUNCTION_NAME, example="get_weather")
    description = Text("What it does and when to call it.")
    parameters = Object("JSON Schema of its arguments.")
    strict = Flag("Ignored: arguments are not held to the schema.")


class ChatTool(Shape):
    """A tool as Chat Completions has it: the function one level down."""

    type = Choice("Always `function`.", ("function",), required=True)
    function = Part("The function.", ChatFunction, required=True)


class ChosenFunction(Shape):
    """The name of a function."""

    name = Text("Its name.", required=True, pattern=FUNCTION_NAME)


class ChatToolChoice(Shape):
    """The one tool to call, as Chat Completions has it."""

    type = Choice("Always `function`.", ("function",), required=True)
    function = Part("Which one.", ChosenFunction, required=True)


class FunctionTool(ChatFunction):
    """A tool as the Responses API has it: flat."""

    type = Choice("Always `function`.", ("function",), required=True)


class FunctionChoice(ChosenFunction):
    """The one tool to call, as the Responses API has it."""

    type = Choice("Always `function`.", ("function",), required=True)
