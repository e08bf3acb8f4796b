"""Downloads the files of models from a Hugging Face hub, as the first stage of a load."""
