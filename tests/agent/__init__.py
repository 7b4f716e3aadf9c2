"""Agent tasks through the real process, against strict fakes of the model APIs."""
