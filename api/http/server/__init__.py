"""The API's server: from the socket to the Flask app, and from an answer to the socket."""
