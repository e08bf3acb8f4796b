"""CTranslate2: converted generators and translators."""
